// A page that was opened as a file can't start a worker from another file, but it can from a text, which the build writes here
if (location.protocol === 'file:') {
  const Real = Worker, text = WORKER
  window.Worker = function () { return new Real(URL.createObjectURL(new Blob([text], {type: 'text/javascript'}))) }
}

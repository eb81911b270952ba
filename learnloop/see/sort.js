for (const table of document.querySelectorAll('table.sort')) table.tHead.addEventListener('click', e => {
  const th = e.target.closest('th')
  if (!th) return
  const way = th.ariaSort == 'ascending' ? -1 : 1, key = row => row.cells[th.cellIndex].dataset.v
  for (const o of th.parentNode.cells) o.removeAttribute('aria-sort')
  th.ariaSort = way > 0 ? 'ascending' : 'descending'
  const order = (a, b) => {
    if (a === '' || b === '') return (a === '') - (b === '')
    return way * (isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b)
  }
  table.tBodies[0].append(...[...table.rows].slice(1).sort((a, b) => order(key(a), key(b))))
})

"""Plant faults in the core, one at a time, and see that a test catches each

Each fault is a replacement in the text of a module, made in a copy of the package, never in the working tree. The text must be there
exactly once: a fault that no longer applies fails the run, as one that no test catches does. `python -m tools.mutants flow trace` plants those of
some modules.

All copies are links to the files of one, which has their bytecode, and pytest runs in a fork of this process, which has imported torch: a second
for a fault, where a process of its own would take four."""
import os, shutil, sys, tempfile, time
from compileall import compile_dir
from dataclasses import dataclass
from pathlib import Path
from tools.forks import run_all, warm

ROOT,TIMEOUT = Path(__file__).parents[1],120  # a second or two is usual; a fault may loop for ever
WARM = ('torch','torch._dynamo','torch.utils.tensorboard','numpy','rich.live','rich.progress','fastcore.all','IPython','matplotlib.pyplot','torchmetrics',
    'pytest','_pytest.python','_hypothesis_pytestplugin','hypothesis.strategies')

@dataclass
class Fault:
    "A fault, and the tests that should notice"
    what:str   # In words
    module:str # Of learnloop
    old:str    # Text in it
    new:str    # What to put in its place
    tests:str  # Arguments for pytest

FLOW,CALLBACK,LEARNER = 'test_flow.py','test_callback.py','test_learner.py'
RELIABLE = 'test_reliability.py'
FAULTS = [
    Fault('a cancel is caught one level too high', 'flow', "        except p.catches as e:\n            out",
        "        except tuple(o.cancel for o in self.phases.values() if p.name in o.inside and o.cancel) as e:\n            out", FLOW),
    Fault('a cancel is caught one level too low', 'flow', "        except p.catches as e:\n            out",
        "        except (p.catches, *(self.open[-2].catches and [self.open[-2].catches] if len(self.open)>1 else [])) as e:\n            out", FLOW),
    Fault('a cancel in after_x leaves x', 'flow', "    except p.catches: self._unwind(depth)\n", "", FLOW),
    Fault('after_cancel_x is not fired', 'flow', "if fs := self._handlers[p.after_cancel]: self._call_handlers(fs, p.after_cancel)", "pass", FLOW),
    Fault('an uncaught cancel escapes as it is', 'flow', "        if self.catcher(e) is None: raise _uncaught(self, e) from e\n", "", FLOW),
    Fault('clean-ups are skipped after an error', 'flow',
        "err = self._unwind(depth, _announce(self, err))", "err = _announce(self, err)", FLOW),
    Fault('clean-ups run in the order of before_x', 'flow', "for i in reversed(range(len(todo)))", "for i in range(len(todo))", FLOW),
    Fault('clean-ups of muted callbacks are skipped', 'flow',
        "        try: f()\n        except BaseException as e:\n            self._note_origin(e, f, event)",
        "        try: getattr(f.__self__, 'run', True) and f()\n        except BaseException as e:\n            self._note_origin(e, f, event)",
        f'{FLOW} -k never_muted'),
    Fault('an error of a clean-up masks the one in flight', 'flow', "    _add_then(err, e)\n    return err", "    return e", FLOW),
    Fault('of two cancels the inner one wins', 'flow', "return e if catcher<self.catcher(err) else err", "return e if catcher>self.catcher(err) else err",
        f'{FLOW} -k two_cancels'),
    Fault('after_exception is fired in each phase', 'flow', " or e is flow.exception: return e", ": return e", FLOW),
    Fault('no note says where an error came from', 'flow', "if not told: note_on(e, f'learnloop: in {who}{at}')", "pass", FLOW),
    Fault('outcomes of inner phases are not forgotten', 'flow',
        "        if o in self.outcome: del self.outcome[o]\n", "        pass\n", f'{FLOW} -k outcome'),
    Fault('a callback that changes the loss is passed over', 'fuse', "ends = part is None and event in _BEFORE", "ends = False", 'test_fuse.py -k mixup'),
    Fault('both ways are made, and not compared', 'fuse', "    if by<=most: return ''", "    return ''", 'test_fuse.py -k wrong_bias'),
    Fault('gradients of a fused pass forget the scale of the loss', 'fuse', "if type(k) is not float or k!=1: g = g*k", "pass", 'test_fuse.py -k need_gradients'),
    Fault("a fused step goes on with the optimizer's old state", 'fuse', "if ids!=self.ids: self._take_params(ids)", "if not self.ids: self._take_params(ids)",
        'test_fuse_sound.py -k load'),
    Fault('hooks of gradients are not looked for', 'fuse', "bad = next((p for p in held_params(opt) if any(_hooks(p))), None)", "bad = None",
        'test_fuse_sound.py -k weight_hook'),
    Fault('weights that made fewer steps are stepped like the others', 'fuse', "if len(known)>1: pattern = tuple(map(known.index, counts))", "pass",
        'test_fuse_sound.py -k frozen_for_some'),
    Fault('methods that somebody replaces are not seen', 'traced', "return self.check(args) and self._methods()==self.methods", "return self.check(args)",
        'test_fuse_sound.py -k methods_that'),
    Fault('what the optimizer changes beside tensors is lost', 'traced', "elif v is not s[k]: _refuse(", "elif False: _refuse(", 'test_fuse_sound.py -k counting'),
    Fault('side effects of forward are lost', 'traced', "if whys := [*_side_effects()]: raise Unfusable(whys[0])", "pass", 'test_fuse.py -k counts'),
    Fault('clipping in a graph forgets the largest norm', 'training', "k = (h[0]/(norm+1e-6)).clamp(max=1.)", "k = (h[0]/(norm+1e-6))", 'test_fuse.py -k clip'),
    Fault('guards are not asked', 'traced', "return self.check(args) and self._methods()==self.methods", "return self._methods()==self.methods", 'test_fuse.py -k an_attribute'),
    Fault('dampening is forgotten', 'fast_step', ",'amsgrad','dampening'", ",'amsgrad'", 'test_fast_step.py -k dampening'),
    Fault("an order that isn't torch's", 'tensors', "generator=generator)\n        vars", "generator=None)\n        vars", 'test_tensors.py'),
    Fault('`order` is ignored', 'flow', "return sorted(self._cbs, key=lambda o: o.order)", "return [*self._cbs]", CALLBACK),
    Fault('who goes inside an event is still called', 'flow', "if self.version!=version and not", "if False and not", CALLBACK),
    Fault('before_fit stands in for before_evaluate inside a fit', 'flow',
        "    if flow.inside(p.like): return\n", "", CALLBACK),
    Fault('`run_valid` is ignored', 'callback', "bool(self.run_train if training else self.run_valid)", "bool(self.run_train)", CALLBACK),
    Fault('misspelt events are not noticed', 'callback', "            if callable(v): check_event_name(k, cls.__name__)", "            pass", CALLBACK),
    Fault('`every` is off by one', 'callback', "n%(self.every or 1)==0", "n%(self.every or 1)==1%(self.every or 1)", CALLBACK),
    Fault('a phase beside the batch does not recur with it', 'flow', "return isinstance(o, Phase) and bool(outer)", "return False", f'{FLOW} -k point_8'),
    Fault('a __call__ of its own is not heard', 'callback', "    if type(self).__call__ is Callback.__call__: return [f for", "    if True: return [f for",
        f'{CALLBACK} -k point_9'),
    Fault('an event of another system is taken for a method', 'callback', "        if is_own: continue", "        if here: continue",
        'test_names.py -k point_6'),
    Fault('counters of filters are not saved', 'callback', "return dict(calls=dict(self.calls)) if self.calls else {}", "return {}", CALLBACK),
    Fault('callbacks added before one that fails stay', 'callback',
        "        for cb in reversed(done): self.remove_cb(cb)\n        raise", "        raise", CALLBACK),
    Fault('callbacks come back at the end of the line', 'callback', "[o for o in before if o in gone or o in self.cbs] + late",
        "[o for o in self.cbs if o not in gone] + gone", CALLBACK),
    Fault("an item's StopIteration ends the epoch", 'loaders', "    if isinstance(e, StopIteration):\n        raise RuntimeError(f'S", "    if False:\n        raise RuntimeError(f'S", f'{RELIABLE} -k case_28'),
    Fault('an error of a fetch keeps workers', 'errors', 'target=o._shutdown_workers', 'target=str', 'test_reliability.py -k case_30'),
    Fault('an error for want of memory holds memory', 'errors', '    if any(map(is_oom, errs)):', '    if False:', 'test_reliability.py -k case_72'),
    Fault('an error of a clean-up holds its batch', 'flow', "    finally: err = None  # as in", "    finally: pass  # as in", f'{RELIABLE} -k holds_nothing'),
    Fault('a note takes the place of an error', 'checks', "    except Exception: return ''", "    except KeyError: return ''", f'{RELIABLE} -k described'),
    Fault('nothing to validate on is not told', 'fit_checks', "        if not n: warnings.warn(", "        if None: warnings.warn(", f'{RELIABLE} -k case_21'),
    Fault('a run that is done comes back in training mode', 'state',
        '        for n,m in learn.model.named_modules(): m.training = unwrap(n) not in resting\n',
        '        pass\n', 'test_checkpoint.py -k called_again'),
    Fault('checkpoints in a row share a file', 'storage', "    taken = there.get(olds[-1]) if apart and olds else None", "    taken = None", 'test_storage.py -k two_chains'),
    Fault('a file that was written to is shared', 'storage', " and f.st_mtime_ns<=manifest.st_mtime_ns", "", 'test_storage.py -k was_changed'),
    Fault('closed parts outlive a change', 'series', "        self._closed = ()  # they", "        pass  # they", 'test_metrics.py -k states_do_not_change'),
    Fault('a state is copied with all its history', 'series', "    def __deepcopy__(self, memo): return self\n", "", 'test_metrics.py -k point_27'),
    Fault('other dtypes are converted in silence', 'state',
        "if 'model' in s: _compare_dtypes(",
        'if None: _compare_dtypes(', 'test_checkpoint.py -k case_46'),
    Fault('`run` is not reset', 'learner', "for cb in self.cbs: cb.run = True", "pass", CALLBACK),
    Fault('`loss` is no copy', 'learner', "loss.detach().clone()", "loss.detach()", f'{LEARNER} -k loss'),
    Fault('evaluation leaves generators as it used them', 'evaluate', "with own_stream(dl, *drawing), restored(", "with restored(", LEARNER),
    Fault('each evaluation draws the same', 'rng', "    _evaluations['n'] += 1\n", "", 'test_evaluation.py -k point_12_monte'),
    Fault('an evaluation hears what gathers for the one around it', 'evaluate',
        'self.removed_cbs(self._eval_cbs), ', '', 'test_evaluation.py -k point_10'),
    Fault('an inner evaluation sets callbacks up once more', 'flow', "    if any(d<len(flow.open) and e==p.cleanup and g.__self__ is who for d,e,g in flow._cleanups): return\n", "", 'test_evaluation.py -k set_up'),
    Fault('predictions pass by who hears of batches', 'predict', "    if not _only_gathers(learn, cb) or learn.team.world>1 and not getattr(batches.dl, 'is_sure', False): return False\n", '', 'test_evaluation.py -k point_18'),
    Fault('evaluation leaves the model in its mode', 'evaluate', "for m,v in modes: m.training = v", "pass", LEARNER),
    Fault('validation builds graphs', 'learner', "with torch.set_grad_enabled(self.valid_grad): self.with_events('validate', self.all_batches)",
        "self.with_events('validate', self.all_batches)", 'test_fastai_style.py'),
    Fault('the prediction is kept after its batch', 'learner', "self.batch = self.source = self.xb = self.yb = self.pred = self.loss_grad = None",
        "self.batch = self.xb = self.yb = self.loss_grad = None", f'{LEARNER} -k kept'),
    Fault('gradients of a failed fit are kept', 'learner',
        '            zero_grad(self.opt)\n            with suppress',
        '            with suppress', 'test_flow.py -k as_new'),
    Fault('zero_grad is skipped along with step', 'learner', "self._step)\n    self.with_events('zero_grad', self._zero_grad)\n\n@patch\ndef backward",
        "self._step)\n    if self.outcome['step']=='done': self.with_events('zero_grad', self._zero_grad)\n\n@patch\ndef backward", FLOW),
    Fault('a scheduler steps although the optimizer did not', 'torchsched',
        "    if n==self._seen: return", "    if False: return", 'test_schedule.py -k real_steps'),
    Fault('the rate finder leaves its weights', 'undo', "o.detach().to(device or o.device, copy=True)", "o.detach().to(device or o.device)",
        'test_schedule.py -k leaves_everything'),
    Fault('a schedule is left behind by its fit', 'schedule', "    self._write(was)", "    pass", 'test_schedule.py -k put_back'),
    Fault("a schedule of one's own sets what it doesn't own", 'schedule', "or not vals.keys()<=set(self.owns)", "", 'test_schedule.py -k ones_own'),
    Fault('a group without a hyper-parameter has none to show', 'optimizer', "res.get(i, next(iter(res.values())))", "res.get(i)",
        'test_optimizer.py -k one_hyper'),
    Fault('of the saved, the best is deleted', 'tracker', "if self.every_epoch else self._by_rank(min)", "if self.every_epoch else self._by_rank(max)",
        'test_tracker.py -k k_best'),
    Fault('a stop within an epoch skips its end', 'tracker', "        if self.stop_reason: raise CancelTrainException",
        "        if self.stop_reason: raise CancelFitException", 'test_tracker.py -k within_an_epoch'),
    Fault('the rate is reduced in a copy', 'tracker',
        "        self.learn.set_hypers(lr=new)", "        get_hypers(self.learn.opt)[-1]['lr'] = new[-1]",
        'test_tracker.py -k plateau'),
    Fault('patience begins anew when a run goes on', 'tracker',
        "if self.reset_on_fit and not self._loaded: self.reset()", "if self.reset_on_fit: self.reset()",
        'test_tracker.py -k loaded'),
    Fault('the last window has too little weight', 'training',
        "    if items==w.expected and type(k) is float and k==1: return\n", "    return\n", 'test_training.py -k big_batch'),
    Fault('the last window runs into the next epoch', 'training',
        "    return not (learn.open_turn and learn.open_turn.own) and learn.iter+1==learn.n_iter", "    return False", 'test_training.py -k two_epochs_of_tails'),
    Fault('SAM draws another dropout for its second pass', 'training',
        "        write_rngs(self._rng)\n", "", 'test_training.py -k sam_is'),
    Fault('autocast leaks out of a cancelled batch', 'precision',
        "def after_cancel_batch(self): self.after_loss()", "def _nope(self): self.after_loss()",
        'test_precision.py -k leaks'),
    Fault('steps that overflow are taken', 'precision', "    raise CancelStepException", "    return", 'test_precision.py -k by_hand'),
    Fault('steps that were skipped are averaged', 'averaging',
        "    if not self._stepped: return", "    pass", 'test_averaging.py -k cancelled_steps'),
    Fault('CutMix writes into its input', 'mixup', "        new = x.clone()", "        new = x", 'test_mixup.py -k cutmix'),
    Fault('focal loss is a plain mean', 'losses', "return loss.sum()/w.sum()", "return loss.mean()", 'test_losses.py -k focal'),
    Fault('a metric of batches is averaged, then', 'metrics',
        "return self.then(res) if self.then else res", "return res", 'test_metrics.py -k per_batch'),
    Fault('the try of metrics leaves its mark on buffers', 'trial', "_eager(), kept_buffers(*models), ", "_eager(), ", 'test_recorder.py -k nothing_is_left'),
    Fault('the try of metrics leaves its mark in lists of the model', 'trial', "for c,was in inner + attrs:", "for c,was in attrs:", 'test_recorder.py -k nothing_is_left'),
    Fault('batch norms average for ever after they were recomputed', 'averaging', "for m,was in norms: m.momentum = was", "pass", 'test_averaging.py -k while_recomputing'),
    Fault('a metric that needs more items is refused', 'trial', "if _is_final(e): raise", "raise", 'test_recorder.py -k want_of_items'),
    Fault('a dict by position goes in by name', 'batch',
        "return not (isinstance(b, list|tuple) and any(isinstance(o, Mapping) for o in b))", "return True", 'test_loaders.py -k who_goes_in'),
    Fault('hooks stay after a failure', 'hook', "if self.remove_end or self.learn.exception or self not in self.learn.cbs: self.remove()",
        "if self.remove_end or self not in self.learn.cbs: self.remove()", 'test_hook.py -k gone_after_any_failure'),
    Fault('a limited loader fetches one batch more', 'limits',
        "iter(range(self.n))", "iter(range(self.n+1))", 'test_limits.py -k length_that_it_yields'),
    Fault('validation forgets the hidden state', 'rnn',
        "for attrs,was,vals in self._kept.pop() if self._kept else ():", "for attrs,was,vals in ():", 'test_rnn.py -k memory'),
    Fault('a stop by flag is not heeded', 'interop/engine',
        "if self.trainer.should_stop_training and not_failed('epoch')(self): raise CancelFitException", "pass", 'test_interop_engine.py -k stop_takes_effect'),
    Fault('a step that was skipped counts as taken', 'interop/engine',
        "'on_optimizer_step', 'after_opt_step'", "'on_optimizer_step', 'after_step'", 'test_interop_engine.py -k overflowed'),
    Fault('what a cancel left open stays open', 'interop/fastnlp',
        "if at.batching or at.evaluating: self._settle(*_inner)", "if at.evaluating: self._settle(*_inner)", 'test_interop_fastnlp.py -k was_begun_is_ended'),
    Fault('`once` is from then on', 'interop/fastnlp',
        "ok = self.num_called==self.once if self.once else", "ok = self.num_called>=self.once if self.once else", 'test_interop_fastnlp.py -k every_once'),
    Fault('a name that contains train is one of training', 'interop/accelerated',
        "if k.startswith('train')==train", "if ('train' in k)==train", 'test_interop_accelerated.py -k beginning_of_their_names'),
    Fault('padding is gathered, too', 'interop/accelerated',
        "torch.cat([o[:n] for o,n in zip(res, sizes, strict=True)])", "torch.cat(res)", 'test_interop_accelerated.py -k gather_of'),
    Fault('a foreign callback that is muted runs', 'interop/fastai',
        "if not cb.run or (inner", "if (inner", 'test_interop_fastai.py -k muted_on_the_way'),
    Fault('a failed fit loads a file of an earlier run', 'interop/fastai',
        "if not failed or self.learn._saved_at(file) in self._saved:", "if True:", 'test_interop_fastai.py -k failed_fit_loads'),
    Fault('a stop in a validation ends the fit at once', 'interop/lightning',
        "raise CancelEpochException if t._checked else CancelTrainException", "raise CancelFitException", 'test_interop_lightning.py -k test_stop'),
    Fault('evaluations inside a fit are heard', 'interop/lightning',
        "if kind=='within': return 'validate' if _is_between_batches(learn) else ''", "if kind=='within': return 'validate'", 'test_interop_lightning.py -k inside_a_fit'),
    Fault('the natural end is a cancel', 'interop/transformers',
        "and learn.training and learn.iter+1!=learn.n_iter", "and learn.training", 'test_interop_transformers.py -k natural_end'),
    Fault('a save that was cancelled is heard', 'interop/transformers',
        "return self.trainer.begun and self.learn.outcome['save']=='done'", "return self.trainer.begun", 'test_interop_transformers.py -k save_that_is_cancelled'),
    Fault('state that is saved is trained along', 'interop/facts',
        "o.detach().clone().as_subclass(Tensor)", "o.detach().as_subclass(Tensor)", 'test_facts.py -k trained_along'),
    Fault('a sanity check is the validation of the epoch', 'interop/facts',
        "    if learn.inside('sanity'): return 'sanity'\n", "", 'test_facts.py -k kinds_of'),
    Fault('best weights are no copy', 'interop/keras',
        "t = t.detach().to('cpu', copy=True)", "t = t.detach().cpu()", 'test_interop_keras.py -k bit_for_bit'),
    Fault('batches count alike in the running mean', 'interop/keras',
        "run.n += learn.bs", "run.n += 1", 'test_interop_keras.py -k mean_over_all'),
    Fault('an older checkpoint is not put back after a failed write', 'storage',
        "        if old.exists() and not path.exists(): os.rename(old, path)", "        pass", 'test_storage.py -k test_case_67'),
    Fault('names of files are not synced', 'storage',
        "        sync_folder(tmp)\n", "        pass\n", 'test_storage.py -k test_data_then_manifest'),
    Fault('a lock that was lost goes unnoticed', 'storage',
        "        if not self.is_lost(): return\n", "        return\n", 'test_storage.py -k test_point_19'),
    Fault('a lock is taken again among another run\'s checkpoints', 'storage',
        "self.known.get(_step_name(o.path), '')!=o.manifest.get('blake2b')", "False", 'test_storage.py -k test_point_19_a_folder_that'),
    Fault('what is deleted is not synced under its other name first', 'storage',
        "    if aside: sync_folder(aside[0].parent)", "    if False: pass", 'test_storage.py -k test_point_29'),
    Fault('a checkpoint between two renames is overlooked', 'storage',
        "nm.removeprefix('.old-') not in names", "False", 'test_storage.py -k between_the_two_renames'),
    Fault('workers that persisted are not started first', 'state',
        "    for nm in loop['warm']: start_workers(self.shared_dls()[nm])",
        '    pass', 'test_checkpoint.py -k workers'),
    Fault('a pass that is over counts as one at rest', 'place', " and not self.is_over", "", 'test_place.py -k at_rest'),
    Fault('a batch that was fetched counts as not begun', 'place', "self.rested_at==self.n_taken and self.learn.batch is None and", "True and", 'test_place.py -k at_rest'),
    Fault('an evaluation moves the place of training', 'learner', "self.train_pass.n_done if self.train_pass else 0", "self.n_done", 'test_place.py -k around_it'),
    Fault('a due checkpoint comes after the handlers', 'learner', "    self._rest('batch')\n    if self.training and",
        "    self.training and p.heard_at!=p.n_taken and self('between_batches')\n    self._rest('batch')\n    if self.training and",
        'test_place.py -k due'),
    Fault('who was heard between batches is heard again', 'passes', "    if state['loop'].get('heard'): p.heard_at = p.n_taken", "    pass", 'test_place.py -k does_so_once'),
    Fault('averaged weights are saved as trained ones', 'state',
        "        if o.use_live_weights: o.use_live_weights(state)",
        '        pass', 'test_checkpoint.py -k within_a_validation'),
    Fault('a batch is replayed with other random numbers', 'resume',
        '        set_random_states(self, f.rng)\n',
        '        pass\n', 'test_pause.py -k replayed'),
    Fault('checkpoints of a killed run are kept for ever', 'checkpoint',
        '        self._prune()  #',
        '        pass  #', 'test_checkpoint.py -k killed_before_it_deleted'),
    Fault('a collate function that draws is passed over', 'begin',
        ' or dl.collate_fn not in (default_collate, default_convert)',
        '', 'test_checkpoint.py -k seeded'),
    Fault('a pause forgets the folder', 'resume', "    self.args['cbs'] = [*cbs, saver]", '    pass', 'test_checkpoint.py -k pause_of_a_fit'),
    Fault('a fit that was stopped is saved as one between epochs', 'resume',
        "if self.resuming or at[:1] in ([], ['fit']) and learn.outcome.get(at[-1] if at else 'fit')=='failed': return False",
        'if self.resuming: return False', 'test_checkpoint.py -k by_hand_after_a_stop'),
    Fault('what a fastNLP callback sets on resuming is overwritten', 'state',
        "if (o.foreign is not None)!=last: continue",
        'if last: continue', 'test_interop_fastnlp.py -k point_30_on_load_checkpoint'),
    Fault('what was drawn before an error is not noted', 'passes',
        '        if self.rngs: self.of.keeper.noted = self.of.p.n_taken,',
        '        if self.rngs: _ = self.of.p.n_taken,', 'test_pause.py -k point_22'),
    Fault('a batch that may have drawn is made twice', 'resume',
        '    return not making or bool(making.rngs)',
        '    return True', 'test_pause.py -k point_22'),
    Fault('True passes for a whole number', 'checks', "isinstance(v, Integral) and not isinstance(v, bool)", "isinstance(v, Integral)",
        'test_callback.py -k bad_arguments'),
    Fault('what is replaced for a while stays', 'checks', "        if had: setattr(o, k, old)\n", "        if had: pass\n", 'test_learner.py -k loss_not_reduced'),
    Fault('a second pass in an epoch passes for the first', 'resume',
        '    if self.n_passes>1:',
        '    if False:', 'test_checkpoint.py -k TwoPasses'),
    Fault('a shuffle buffer is taken for empty', 'begin',
        "not any(_is_from(o, 'datasets.iterable_dataset') for o in inside)",
        'not any(False for o in inside)', 'test_stateful.py -k hf_shuffled'),
    Fault('a module that judges for itself is tried in place', 'saving', "    try: deepcopy(m, hooks).load", "    try: m.load", 'test_saving.py -k point_25'),
    Fault('Ctrl-C in a task ends the event loop', 'interrupt', "        e = Interrupted() if _in_a_task() else KeyboardInterrupt()", "        e = KeyboardInterrupt()", 'test_interrupt.py -k point_28_a_kernel'),
    Fault('a second SIGTERM stops in the middle of a batch', 'interrupt',
        "if again and signum==signal.SIGINT: raise e", "if again: raise e", 'test_interrupt.py'),
    Fault('a signal ends the evaluation of a callback at once', 'interrupt',
        "if learn.mid_batch or evaluates and not learn.keeper.in_own_validation(): return True", "if learn.mid_batch: return True",
        'test_interrupt.py -k evaluation_of'),
    Fault('predictions without a phase are taken for the validation', 'resume',
        "phases = learn.open if learn.outer_phases is None else learn.outer_phases", "phases = learn.open",
        'test_interrupt.py -k predictions'),
    Fault('workers outlive an interrupt', 'interrupt', '            self._bury()\n', '            pass\n', 'test_interrupt.py'),
    Fault('gradients of a step that was taken are kept', 'training',
        "    if self.learn.outcome['step']=='done' or turn and turn.stepped: self._clear()", "    pass", 'test_training.py -k a_step_that_was_taken'),
    Fault('a replaced layer never trains', 'optimizer', "if not in_fit and (came or gone and given): raise", "if False: raise", 'test_trains.py -k point_1'),
    Fault('the same optimizer given twice is a new one', 'learner_opt', '    if not is_known: self._holds', '    self._holds', 'test_trains.py -k point_1'),
    Fault('a loss that learns does not', 'learner_opt',
        'if not given and _unheld_by_loss(self): self.opt = make(self._split)',
        'pass', 'test_trains.py -k point_2'),
    Fault("opt_func's lr is dropped", 'optimizer', "if 'lr' in named or not callable(f)", "if not callable(f)", 'test_trains.py -k point_3'),
    Fault("a turn's gradients go to all", 'turn', "loss.backward(inputs=params, ", "loss.backward(", 'test_trains.py -k gradients_of_a_turn'),
    Fault('a turn that does not count is counted', 'learner', "        if not turn.counts: return res\n", "", 'test_trains.py -k step_of_a_turn'),
    Fault('gradients are clipped for the first evaluation of a closure alone', 'turn', "    learn.fire_for('before_step')\n", "", 'test_trains.py -k each_evaluation'),
    Fault('a tracer takes a step that begins again for another', 'trace', "if s.depth==depth and s.state=='begun': return", "if False: return", 'test_trace.py -k begins_again'),
    Fault('a step that its override counts is counted twice', 'learner', 'self.count.opt_steps = n+1', 'self.count.opt_steps += 1', f'{LEARNER} -k override_that_counts'),
    Fault('a step that is cancelled leaves the weights where a line search was', 'turn',
        "for p,w in zip(params, began, strict=True): p.data.copy_(w)", "pass", 'test_turns_rules.py -k later_evaluation'),
    Fault('a closure has the first loss wherever it is asked', 'turn',
        "if first and all(map(torch.equal, first[1], held_params(self.opt))): return learn.team.mean(first[0])", "if first: return first[0]", 'test_turns_rules.py -k a_closure'),
    Fault('the gradient of one turn reaches what another trains', 'turn', "loss.backward(inputs=params, ", "loss.backward(", 'test_turns.py -k gan-plain'),
    Fault("gradients of its own don't know the scale", 'turn', "    k = turn.scale\n", "    k = 1.\n", 'test_turns_rules.py -k gradients_of_its_own'),
    Fault('a turn that is cancelled leaves its gradients', 'learner', "if self.outcome['turn']=='cancelled'", "if False",
        'test_turns_rules.py -k cancel_at_any'),
    Fault('inputs are mixed, and targets of a turn are not', 'mixup', "if self._partner is None or self._is_mixed and not supplies: return", "return",
        'test_turns.py -k fixmatch-mixup'),
    Fault('losses of a critic hide those of a generator', 'tracker',
        "return vars(self) if nm is None else self.turns.setdefault(nm", "return vars(self) if True else self.turns.setdefault(nm",
        'test_turns_rules.py -k spikes_are'),
    Fault('a step is counted when all have heard of it', 'learner',
        "    self.count.opt_steps = n+1  # an override of `_step` may have counted it, too\n"
        "    if fs := self._handlers['after_opt_step']: self._call_handlers(fs, 'after_opt_step')\n",
        "    if fs := self._handlers['after_opt_step']: self._call_handlers(fs, 'after_opt_step')\n    self.count.opt_steps = n+1\n", f'{LEARNER} -k point_7'),
    Fault('text that is markup comes into a report as it is', 'page',
        "isinstance(o, (Html,Svg)) else escape_text(o)", "isinstance(o, (Html,Svg)) else str(o)", 'test_report.py'),
    Fault('warnings are kept for ever', 'report',
        "if warnings.showwarning==self._keep: warnings.showwarning = self._before", "pass", 'test_report.py -k warnings_are_kept'),
    Fault('a line of a chart has its peaks cut', 'chart',
        "res += sorted({min(ids, key=lambda j: pts[j][1]), max(ids, key=lambda j: pts[j][1])})", "res += sorted({min(ids, key=lambda j: pts[j][1]), ids[0]})", 'test_chart.py -k extremes'),
    Fault('clean-ups are drawn in the order of before_x', 'show',
        "return res[::-1] if any(", "return res if any(", 'test_show.py -k order_in_which'),
    Fault('what other callbacks do counts as waiting for data', 'throughput',
        "    order,rank_invariant = math.inf,True\n", "    order,rank_invariant = 0,True\n", 'test_throughput.py -k nothing_but_the_fetch'),
    Fault('the rate of a resumed epoch counts batches of another process', 'progress',
        "if self._next<inf: self._due = -inf", "pass", 'test_progress.py -k rate_counts'),
    Fault('a reader that goes away ends the fit', 'progress',
        "    except Exception as e: error = e", "    except ZeroDivisionError as e: error = e", 'test_progress.py -k reader_that_goes_away'),
    Fault('a graph of many batches drops its last ones', 'progress',
        "return range((n-1)%k, n, k)", "return range(0, n, k)", 'test_progress.py -k many_batches'),
    Fault('a cancel is recorded by each turn that it passes through', 'trace',
        "if e.__dict__.get(key, -1)<start: self._raised(", "if start: self._raised(", 'test_trace.py -k passes_through'),
    Fault('turns that a filter held back count as turns', 'trace',
        "        if res is filtered_out:", "        if res is None:", 'test_trace.py -k times_by_phase'),
    Fault('why answers from an earlier fit', 'why',
        "        if c.start<since: continue", "        if c.start<0: continue", 'test_trace.py -k why_of_the_last'),
    Fault('a curve has the step that it was resumed at twice', 'tensorboard',
        "for _ in range(2): res.file_writer", "for _ in range(1): res.file_writer", 'test_tensorboard.py -k server_of_tensorboard'),
    Fault('norms are those after clipping', 'tensorboard',
        "order,run_valid = 10.5,False", "order,run_valid = 11.5,False", 'test_tensorboard.py -k before_clipping'),
    Fault('a graph lacks edges that lead past a sum', 'tensorboard',
        "todo += [p for p,_ in o.next_functions]", "pass", 'test_tensorboard.py -k modules_as_scopes'),
    Fault('a graph has modules twice, around others', 'tensorboard',
        "if not is_innermost: return", "pass", 'test_tensorboard.py -k modules_as_scopes'),
    Fault('a bar in a cell ends it', 'table', "{'|':'\\\\|', ", "{", 'test_table.py'),
    Fault('an image beyond 0 to 1 is cut off', 'image', "if lo<0 or hi>1 else x", "if lo<0 and hi<1 else x", 'test_image.py'),
    Fault('doctor hides what failed', 'doctor', "failed.append((name, e))", "pass", 'test_doctor.py -k doctor_names'),
    Fault('doctor takes any resumed fit for the same', 'doctor', "_require(same and ", "_require(True or ", 'test_doctor.py -k can_fail'),
    Fault('the demo validates on what it trains on', 'demo', "from_dsets(train, valid, bs=bs", "from_dsets(train, train, bs=bs", 'test_demo.py -k without_overlap'),
    Fault('a learning rate may be infinite', 'cli', "if math.isfinite(res) and", "if", 'test_cli.py -k wrong_options'),
    Fault('fits in two threads share one screen that is gone', 'progress', "if self.outer in _open: self.outer.bar", "self.outer.bar", 'test_progress.py -k two_threads'),
    Fault('a trace has slices that overlap by rounding', 'timeline', "while int(us*1e3)<ns: us = math.nextafter(us, math.inf)", "pass", 'test_trace.py -k numbers_of_the_file'),
    Fault('validation answers for training', 'why', "if s.training in (None, at.training)]", "]", 'test_trace.py -k outside_of_batches'),
    Fault('a cancel of training answers for validation', 'why',
        "if ended in ('train', 'validate') and c.training is not at.training: return False", "pass", 'test_trace.py -k no_loader_has'),
    Fault('a batch is drawn with a later fetch', 'timeline', "if o.start+o.ns<=s.start][-1:]", "][-1:]", 'test_trace.py -k test_timelines'),
    Fault('a log is not cut when a run goes on', 'log',
        "elif self._size<len(data): os.truncate(self._path, self._size)", "else: self._size = len(data)", 'test_log.py -k resumed_runs'),
    Fault('an unwritable log ends the training', 'log',
        "            if self._warned: return\n            self._warned = True\n", "            raise\n", 'test_log.py -k training_goes_on'),
    # --- several processes
    Fault('a process takes the part of its neighbour', 'share', "    start = rank*size+min(rank, more)\n", "    start = rank*size\n", 'test_share.py -k put_together'),
    Fault('a last batch that is too small is trained on', 'share', "if not self.training or n>=self.world: return False", "return False", 'test_share.py -k fewer_items'),
    Fault('each process shuffles by itself', 'share', "    _write(rngs, theirs['states'])\n    try: yield", "    try: yield", 'test_share.py -k put_together'),
    Fault('a cancel of one process stays its own', 'agree', "    if not self._misses(name):\n", "    if True:\n", 'test_cancels.py -k outermost'),
    Fault('parts count alike, whatever their size', 'agree', "    if learn.bs*self.world!=learn.n_items:", "    if False:", 'test_exact.py -k as_one_process'),
    Fault('an error of one process is not told', 'scale/team', "self.store.compare_set(", "str(", 'scale/test_team.py -k error_of_one'),
    Fault('a process that has failed waits for gloo', 'scale/team', "ctypes.pythonapi.Py_IncRef(ctypes.py_object(o))", 'pass', 'scale/test_team.py -k wait_for_gloo'),
    Fault('random numbers of ranks are not resumed', 'resume', "    put_own(s, own, folder)\n", "    pass\n", 'test_kept.py -k bit_for_bit'),
    Fault('a part of a tensor may have another size', 'shards', "if sum(prod(c['sizes']) for c in o['chunks'])!=prod(o['size']) or n_dims:", "if False:", 'test_shards.py')]

def copy(to):
    "Copy to the folder `to` what the tests need, with its bytecode"
    for o in ('learnloop', 'nbs', 'tests', 'tools', 'benchmarks'): shutil.copytree(ROOT/o, to/o, ignore=shutil.ignore_patterns('__pycache__'))
    for o in ('pyproject.toml', 'settings.ini'): shutil.copy(ROOT/o, to)
    for o in ('learnloop', 'tests', 'tools', 'benchmarks'): compile_dir(to/o, quiet=2)

def link(whole, to, path=None, text=None):
    "Make the folder `to` the same as `whole` by hard links; `path` in it is a file of its own, with `text`, and without bytecode"
    shutil.copytree(whole, to, copy_function=os.link, dirs_exist_ok=True)
    if path is None: return
    for o in (to/path.parent/'__pycache__').glob(f'{path.stem}.*.pyc'): o.unlink()
    (to/path).unlink()  # writing to it would be writing to all
    (to/path).write_text(text)

def one(folder, name):
    "The file `name` in `folder`, in whatever wing it is"
    found = [*folder.rglob(name)]
    if len(found)!=1: sys.exit(f'{len(found)} files named {name} in {folder}: a fault needs one')
    return found[0]

def pytest(job):
    "Run pytest in a fork, on `job`: a folder and arguments; returns the exit status"
    folder,args = job
    os.chdir(folder)
    os.environ['PYTHONPATH'] = str(folder)
    sys.path[:] = [str(folder), *[o for o in sys.path if o not in ('', str(ROOT))]]
    for o in [o for o in sys.modules if o.split('.')[0]=='tools']: del sys.modules[o]  # a test imports that of its folder
    import pytest
    # asserts as they are, as rewriting them takes longer than most of the tests
    quick = ['-q', '--tb=line', '--assert=plain', '-p', 'no:cacheprovider', '-p', 'no:xdist', '-W', 'ignore::pytest.PytestAssertRewriteWarning']
    return pytest.main([*quick, *args])

def arguments(folder, tests):
    "What pytest is given for the `tests` of a fault in `folder`"
    return [str(one(folder/'tests', o).relative_to(folder)) if o.endswith('.py') else o for o in tests.split()]

def catcher(res):
    "The test that failed in `res`, None if none did"
    return next((o.split(' - ')[0].removeprefix('FAILED ') for o in res.out.splitlines() if o.startswith('FAILED ')), None) if res.rc==1 else None

def told(fault, caught, by): print(f'{"ok  " if caught else "FAIL"} {fault.module:20}{fault.what:55}{by}', flush=True)

def plant(faults, whole, folders):
    "Run the tests of each of `faults` with it in place, in copies of `whole` in `folders`; yields fault, the tests that caught it and what to say"
    jobs = {}
    for i,o in enumerate(faults):
        path = one(whole/'learnloop', f'{o.module}.py').relative_to(whole)
        text = (whole/path).read_text()
        if (n := text.count(o.old))!=1:
            yield o,None,f'no longer applies: its text is {n} times in {path.name}'
            continue
        link(whole, folder := folders/str(i), path, text.replace(o.old, o.new))
        jobs[folder] = o
    for res in run_all(pytest, [(folder, ['-x', *arguments(folder, o.tests)]) for folder,o in jobs.items()], n_procs=2, timeout=TIMEOUT):
        folder,fault = res.job[0],jobs[res.job[0]]
        shutil.rmtree(folder)
        if res.rc is None: yield fault,arguments(whole, fault.tests),f'ran for more than {TIMEOUT} s'
        elif nm := catcher(res): yield fault,[nm],nm.removeprefix('tests/')
        elif res.rc==0: yield fault,None,'SURVIVES'
        else: yield fault,None,f'the tests did not run (pytest exited with {res.rc}): {res.out[-500:]}'

def unsound(whole, tests):
    "Those of `tests`, arguments for pytest, that fail in `whole`, which has no fault: they would catch anything"
    files = {}
    for o in tests: files.setdefault(o[0].split('::')[0] if len(o)==1 else tuple(o), []).append(o)
    jobs = [(whole, list(dict.fromkeys(a for o in v for a in o))) for v in files.values()]
    return [res for res in run_all(pytest, jobs, n_procs=2, timeout=10*TIMEOUT) if res.rc!=0]

def main(modules):
    "Plant the faults of `modules`, or all; returns the exit status"
    start = time.time()
    faults = [o for o in FAULTS if not modules or o.module in modules]
    warm(*WARM)
    with tempfile.TemporaryDirectory() as d:
        copy(whole := Path(d)/'whole')
        tests,bad = [],0
        for fault,by,why in plant(faults, whole, Path(d)):
            told(fault, by, why)
            if by: tests.append(by)
            else: bad += 1
        print(f'{len(tests)} of {len(faults)} faults caught in {time.time()-start:.0f} s', flush=True)
        for o in unsound(whole, tests):
            print(f'FAIL without any fault, too: {" ".join(o.job[1])}\n{o.out[-2000:]}')
            bad += 1
    print(f'what caught them passes without them: {time.time()-start:.0f} s in all')
    return int(bad>0)

if __name__=='__main__': sys.exit(main(sys.argv[1:]))

"Names of other systems: errors for events, arguments, attributes and classes give the name in learnloop"
import learnloop, pytest, torch
from helpers import mk_learner
from learnloop import Callback, Learner, event, on
from learnloop.interop.core import adapters
from learnloop.interop.names import find_names, names, tell

# What fastai 2.8.12 exports, by module
FASTAI = """
callback.azureml: AzureMLCallback
callback.captum: CaptumInterpretation
callback.channelslast: ChannelsLast
callback.comet: CometCallback
callback.core: Callback TrainEvalCallback GatherPredsCallback FetchPredsCallback CancelStepException CancelBackwardException
    CancelFitException CancelEpochException CancelTrainException CancelValidException CancelBatchException event
callback.data: CollectDataCallback WeightedDL PartialDL
callback.fp16: AMPMode MixedPrecision get_master to_master_grads to_model_params test_overflow grad_overflow copy_clone ModelToHalf
    NonNativeMixedPrecision
callback.hook: Hook hook_output Hooks hook_outputs dummy_eval model_sizes num_features_model has_params HookCallback total_params layer_info
    module_summary ActivationStats
callback.mixup: reduce_loss MixHandler MixUp CutMix
callback.preds: MCDropoutCallback
callback.progress: ProgressCallback ShowGraphCallback CSVLogger
callback.rnn: ModelResetter RNNCallback RNNRegularizer rnn_cbs
callback.schedule: annealer sched_lin sched_cos sched_no sched_exp SchedLin SchedCos SchedNo SchedExp SchedPoly combine_scheds combined_cos
    ParamScheduler LRFinder valley slide minimum steep SuggestionMethod
callback.tensorboard: TensorBoardBaseCallback TensorBoardCallback TensorBoardProjectorCallback projector_word_embeddings tensorboard_log
callback.tracker: TerminateOnNaNCallback TrackerCallback EarlyStoppingCallback SaveModelCallback ReduceLROnPlateau
callback.training: bn_types ShortEpochCallback GradientAccumulation GradientClip set_bn_eval BnFreeze
callback.wandb: WandbCallback log_dataset log_model wandb_process
learner: replacing_yield mk_metric save_model load_model SkipToEpoch Learner before_batch_cb load_learner Metric AvgMetric AvgLoss
    AvgSmoothLoss ValueMetric Recorder CastToTensor CancelBackwardException CancelStepException CancelFitException CancelEpochException
    CancelTrainException CancelValidException CancelBatchException
optimizer: pytorch_hp_map Optimizer sgd_step weight_decay l2_reg average_grad average_sqr_grad momentum_step SGD rms_prop_step RMSProp
    step_stat debias adam_step Adam radam_step RAdam qhadam_step QHAdam larc_layer_lr larc_step Larc lamb_step Lamb Lookahead ranger
    detuplify_pg set_item_pg OptimWrapper
losses: BaseLoss CrossEntropyLossFlat FocalLoss FocalLossFlat BCEWithLogitsLossFlat BCELossFlat MSELossFlat L1LossFlat
    LabelSmoothingCrossEntropy LabelSmoothingCrossEntropyFlat DiceLoss
metrics: rmse exp_rmspe perplexity AccumMetric skm_to_fastai optim_metric accuracy error_rate top_k_accuracy APScoreBinary BalancedAccuracy
    BrierScore CohenKappa F1Score FBeta HammingLoss Jaccard Precision Recall RocAuc RocAucBinary MatthewsCorrCoef accuracy_multi APScoreMulti
    BrierScoreMulti F1ScoreMulti FBetaMulti HammingLossMulti JaccardMulti MatthewsCorrCoefMulti PrecisionMulti RecallMulti RocAucMulti mse mae
    msle ExplainedVariance R2Score PearsonCorrCoef SpearmanCorrCoef foreground_acc Dice DiceMulti JaccardCoeff JaccardCoeffMulti
    CorpusBLEUMetric Perplexity LossMetric LossMetrics
interpret: plot_top_losses Interpretation ClassificationInterpretation SegmentationInterpretation
distributed: ParallelTrainer setup_distrib teardown_distrib DistributedDL DistributedTrainer rank0_first
"""
OF_FASTAI = [nm for l in FASTAI.replace('\n    ', ' ').strip().splitlines() for nm in l.split(': ')[1].split()]
# Attributes and methods of its learner
LEARNER = """dls model loss_func opt_func opt lr wd wd_bn_bias train_bn moms splitter path model_dir metrics cbs logger create_mbar training lock n_epoch epoch
    n_iter iter dl xb yb x y pred loss loss_grad train_iter pct_train smooth_loss final_record recorder add_cb add_cbs remove_cb remove_cbs added_cbs removed_cbs
    ordered_cbs create_opt all_batches one_batch fit validation_context validate get_preds predict show_results show_training_loop no_logging no_mbar no_bar
    loss_not_reduced to_detach save load export freeze_to freeze unfreeze tta fit_one_cycle fit_flat_cos fit_sgdr fine_tune lr_find summary to_channelslast
    to_contiguous to_fp16 to_bf16 to_fp32 to_non_native_fp16 to_non_native_fp32 gather_args to_parallel detach_parallel parallel_ctx to_distributed
    detach_distributed distrib_ctx _with_events _split _set_device _grab_cbs _call_one _end_cleanup _do_one_batch _do_grad_opt _do_epoch_train
    _do_epoch_validate _do_epoch _do_fit _backward _step""".split()

def test_each_export_of_fastai_is_here_or_in_the_table(): assert [o for o in OF_FASTAI if not (hasattr(learnloop, o) or find_names('class', o))]==[]

def test_point_31_attributes_of_fastais_learner_are_here_or_in_the_table():
    learn = mk_learner(defaults=True)
    assert [k for k in LEARNER if not hasattr(learn, k) and not find_names('attribute', k)]==[]

def test_the_table_is_true():
    "What it names is here; what it calls missing isn't, and says why"
    learn,here = mk_learner(defaults=True),{*dir(learnloop), *dir(Learner)}
    for o in names():
        first = o.here.split('(')[0].split(' ')[0]
        if o.kind=='event': assert not o.here or o.here in event or o.here in ('state_dict', 'load_state_dict'), o
        elif first.startswith('learn.'): assert all(hasattr(learn, k) for k in first.split('.')[1:2]), o
        elif first.startswith('torch.'): assert hasattr(torch, first.split('.')[1]), o
        elif o.kind=='class' and o.here and '.' not in first and first!='fit': assert first in here, o
        elif o.kind=='attribute' and o.here and first!='slice': assert first.split('.')[0] in here or first in event or first in ('learn', 'loss_func', 'opt_func'), o
        assert o.here or o.why or o.kind=='argument', o
        if o.kind=='class': assert not hasattr(learnloop, o.theirs), o
        if o.kind=='attribute': assert not hasattr(learn, o.theirs), o

# Events

THEIRS = dict(on_epoch_end='after_epoch', on_epoch_begin='before_epoch', on_epoch_start='before_epoch', on_train_batch_end='after_batch', on_train_batch_begin='before_batch',
    on_train_batch_start='before_batch', on_batch_end='after_batch', on_train_start='before_fit', on_train_begin='before_fit', on_train_end='after_fit',
    on_fit_start='before_fit', on_validation_end='after_validate', on_after_backward='after_backward', begin_fit='before_fit', begin_batch='before_batch',
    on_training_run_start='before_fit', on_step_begin='before_batch', on_before_optimizer_step='before_step', after_cancel_valid='after_cancel_validate')

@pytest.mark.parametrize('nm,ours', THEIRS.items())
def test_point_6_events_of_others_are_refused_with_ours(nm, ours):
    def f(cb): pass
    makes = [lambda: type('Mine', (Callback,), {nm: f}), lambda: Callback(**{nm: f}), lambda: Callback(**{nm: None}), lambda: on(nm)(f)]
    for make in makes[2*(ours in ('after_cancel_validate',)):]:
        learn = mk_learner()
        with pytest.raises(ValueError, match=f"unknown event '{nm}'.*it is .*{ours} here"): learn.add_cb(make())
        with pytest.raises(ValueError, match=ours): learn.fit(1, cbs=make())
        assert not any(o.name in ('mine', 'f') for o in learn.cbs)
    with pytest.raises(AttributeError, match=ours): getattr(event, nm)

def test_point_6_every_hook_of_an_adapter_is_known():
    hooks = {h.name for o in adapters().values() for h in o.hooks if h.name!=h.event}
    assert {o for o in hooks if not tell('event', o)}==set()
    for nm in sorted(o for o in hooks if o.startswith('on_')):
        with pytest.raises(ValueError, match=f"unknown event '{nm}'"): mk_learner([type('Mine', (Callback,), {nm: lambda self: None})])

@pytest.mark.parametrize('nm', ['on_improve', 'on_epoch', 'on_train_ends', 'begin', 'begin_well', 'setup', 'teardown', 'on', '_on_epoch_end'])
def test_point_6_own_methods_are_allowed(nm):
    learn = mk_learner([type('Mine', (Callback,), {nm: lambda self: None})])
    learn.fit(1)

def test_point_6_a_learner_that_nobody_calls():
    with pytest.raises(ValueError, match='Mine.on_epoch_end would never be called; it is after_epoch here'): type('Mine', (Learner,), dict(on_epoch_end=lambda self: None))
    with pytest.raises(ValueError, match="unknown event 'befor_fit' in Mine; did you mean 'before_fit'"): type('Mine', (Learner,), dict(befor_fit=lambda self: None))
    type('Mine', (Learner,), dict(on_improve=lambda self: None, before_fit=lambda self: None))

# Arguments

@pytest.mark.parametrize('call,want', [
    (lambda l: l.fit(epochs=3), 'n_epoch'), (lambda l: l.fit(num_epochs=3), 'n_epoch'), (lambda l: l.fit(max_epochs=3), 'n_epoch'), (lambda l: l.fit(n_epochs=3), 'n_epoch'),
    (lambda l: l.fit(1, callbacks=[]), 'cbs'), (lambda l: l.fit(1, learning_rate=.1), 'lr'), (lambda l: l.fit(1, metrics=[]), 'Learner'),
    (lambda l: l.fit(1, validation_data=1), 'dls'), (lambda l: l.fit(1, resume_from_checkpoint='a'), 'resume'), (lambda l: l.fit(1, n_epoc=2), "did you mean 'n_epoch'"),
    (lambda l: l.fit(1, accumulate_grad_batches=2), 'GradientAccumulation'), (lambda l: l.fit(1, quite_unknown=2), 'quite_unknown'),
    (lambda l: l.fit_one_cycle(1, max_lr=.1), 'lr_max'), (lambda l: l.fit_one_cycle(epochs=1), 'n_epoch'), (lambda l: l.fit_flat_cos(1, callbacks=[]), 'cbs'),
    (lambda l: l.fine_tune(1, callbacks=[]), 'cbs'), (lambda l: l.fit_sgdr(1, 1, callbacks=[]), 'cbs'), (lambda l: l.fit_wsd(1, callbacks=[]), 'cbs'),
    (lambda l: l.validate(callbacks=[]), 'cbs'), (lambda l: l.validate(dataloaders=[]), 'dl'), (lambda l: l.get_preds(callbacks=[]), 'cbs'),
    (lambda l: l.get_preds(with_pred=False), "did you mean 'with_preds'"), (lambda l: l.show_results(max_n=3), 'n here'), (lambda l: l.predict(1, rm_type_tfms=1), 'transforms'),
    (lambda l: l.lr_find(min_lr=1), 'start_lr'), (lambda l: l.lr_find(num_training=1), 'num_it'), (lambda l: l.save('a', pickle_protocol=2), 'nothing is pickled'),
    (lambda l: l.export(fname='a'), 'file'), (lambda l: l.tta(item_tfms=1), 'aug'),
    (lambda l: Learner(l.dls, l.model, callbacks=[]), 'cbs'), (lambda l: Learner(l.dls, l.model, criterion=print), 'loss_func'),
    (lambda l: Learner(l.dls, l.model, optimizer=1), 'opt_func'), (lambda l: Learner(l.dls, l.model, input_mapping=1), 'before_batch_cb')])
def test_point_6_arguments(call, want):
    learn = mk_learner()
    with pytest.raises(TypeError, match=f'got an unexpected keyword argument.*{want}'): call(learn)
    assert learn._opt is None

# Attributes

@pytest.mark.parametrize('k,want', [('test', r'learn\.validate'), ('to_distributed', r'learn\.to_ddp'), ('plot_metrics', r'learn\.recorder'), ('log_dict', r'learn\.log'),
    ('validation_context', r'learn\.validate'), ('to_non_native_fp16', 'to_fp16'), ('current_epoch', r'learn\.epoch'), ('global_step', 'opt_steps'), ('evaluate', r'learn\.validate'),
    ('train', r'learn\.fit'), ('compile', 'Learner'), ('callbacks', r'learn\.cbs'), ('parameters', r'learn\.model'), ('hypers', 'get_hypers')])
def test_point_6_attributes(k, want):
    learn = mk_learner()
    assert not hasattr(learn, k) and getattr(learn, k, 7)==7
    with pytest.raises(AttributeError, match=f"'Learner' object has no attribute '{k}'.*{want}"): getattr(learn, k)
    cb = Callback()
    learn.add_cb(cb)
    with pytest.raises(AttributeError, match=f"attribute '{k}'.*{want}"): getattr(cb, k)

def test_point_6_hypers_of_an_optimizer():
    def look(self): _ = self.opt.hypers
    with pytest.raises(AttributeError) as e: mk_learner().fit(1, cbs=Callback(before_batch=look))
    assert any('get_hypers(learn.opt)' in o for o in e.value.__notes__)

"Written by `python -m tools.stubs`: what modules that are imported later patch onto classes"
PATCHES = {
    'learnloop.loop.flow.Flow': {
        'learnloop.see.show': 'show_training_loop',
        'learnloop.see.trace': 'trace'},
    'learnloop.loop.learner.Learner': {
        'learnloop.measure.interpret': 'show_results tta',
        'learnloop.scale.distributed': 'to_ddp to_fsdp',
        'learnloop.scale.fuse': 'fuse fuse_report unfuse',
        'learnloop.see.flight': 'blame',
        'learnloop.see.replay': 'record_step',
        'learnloop.see.report': 'report',
        'learnloop.train.limits': 'find_batch_size',
        'learnloop.train.lr_find': 'lr_find',
        'learnloop.train.precision': 'to_bf16 to_fp16 to_fp32',
        'learnloop.train.schedule': 'fine_tune fit_flat_cos fit_one_cycle fit_sgdr fit_wsd',
        'learnloop.train.training': 'to_channelslast to_contiguous'},
    'learnloop.measure.recorder.Recorder': {
        'learnloop.train.lr_find': 'lr_finder plot_lr_find',
        'learnloop.train.schedule': 'plot_sched'},
    'learnloop.see.trace.Trace': {
        'learnloop.see.timeline': 'save timeline',
        'learnloop.see.why': 'why'}}

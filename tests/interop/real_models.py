"""Models of real packages, without weights: a compiled step trains them as an uncompiled one does, or the report says why it can't.

Run by `python -m tools.interop models`. `python tests/interop/real_models.py` prints the result for each."""
import sys, warnings
from unittest.mock import MagicMock
import pytest, torch
from learnloop import DataLoaders, Learner
from torch import nn
from torch.nn import functional as F
with warnings.catch_warnings(action='ignore'):
    import peft, torch_geometric.nn as pyg, transformers as tf
    # timm imports torchvision's transforms, but the test doesn't use them
    sys.modules |= {f'torchvision{o}':MagicMock(__spec__=None) for o in ('','.transforms','.transforms.functional','.transforms.v2','.datasets',
        '.datasets.folder','.datasets.vision','.ops','.ops.misc','.models','.models.feature_extraction')}
    import timm
tf.logging.set_verbosity_error()

SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
TEXT = SMALL | dict(vocab_size=64, max_position_embeddings=32)
def tokens(labels): return lambda: dict(input_ids=torch.randint(2, 64, (4, 8)), labels=labels())
def classes(): return torch.randint(0, 2, (4,))
def words(): return torch.randint(2, 64, (4, 8))
def images(size): return lambda: (torch.randn(4, 3, size, size), torch.randint(0, 3, (4,)))
def graph(): return dict(x=torch.randn(20, 6), edge_index=torch.randint(0, 20, (2, 60)), y=torch.randint(0, 3, (20,)))
def gpt2(**kw): return tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=64, n_positions=32, n_embd=16, n_layer=2, n_head=2, **kw))
def causal(kind, **kw):
    return getattr(tf, f'{kind}ForCausalLM')(getattr(tf, f'{kind}Config')(**TEXT | dict(num_key_value_heads=2, use_cache=False) | kw))
def labelled(kind, **kw): return getattr(tf, f'{kind}ForSequenceClassification')(getattr(tf, f'{kind}Config')(**TEXT | kw))
def t5(): return tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
    use_cache=False, decoder_start_token_id=0))
def adapted(config, model): return peft.get_peft_model(model, config)
class Nodes(nn.Module):
    "A graph network, whose batch is a dict"
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x, edge_index): return self.net(x, edge_index)
def net(kind, **kw): return Nodes(getattr(pyg, kind)(6, 16, 2, 3, **kw))
def image_model(name, **kw): return timm.create_model(name, num_classes=3, pretrained=False, **kw)
def part(f, *args, **kw): return lambda: f(*args, **kw)

MODELS = {  # a model, a batch, and why it isn't fused
    'transformers: BERT':(part(labelled, 'Bert'), tokens(classes), ''),
    'transformers: RoBERTa':(part(labelled, 'Roberta'), tokens(classes), ''),
    'transformers: DistilBERT':(lambda: tf.DistilBertForSequenceClassification(tf.DistilBertConfig(vocab_size=64, dim=16, n_layers=2, n_heads=2,
        hidden_dim=32, max_position_embeddings=32)), tokens(classes), ''),
    'transformers: GPT-2':(part(gpt2, use_cache=False), tokens(words), ''),
    'transformers: GPT-2, with a cache':(gpt2, tokens(words), 'turn the cache off (use_cache=False'),
    'transformers: Llama':(part(causal, 'Llama'), tokens(words), ''),
    'transformers: Mistral':(part(causal, 'Mistral'), tokens(words), ''),
    'transformers: Qwen2':(part(causal, 'Qwen2'), tokens(words), ''),
    'transformers: T5':(t5, tokens(words), ''),
    'transformers: ViT':(lambda: tf.ViTForImageClassification(tf.ViTConfig(**SMALL, image_size=16, patch_size=8, num_labels=3)),
        lambda: dict(zip(('pixel_values','labels'), images(16)(), strict=True)), ''),
    'timm: ResNet':(part(image_model, 'resnet10t'), images(64), ''),
    'timm: MobileNet':(part(image_model, 'mobilenetv3_small_050'), images(64), ''),
    'timm: ConvNeXt':(part(image_model, 'convnext_atto', depths=(1, 1, 1, 1), dims=(8, 8, 16, 16)), images(64), ''),
    'timm: ViT':(part(image_model, 'vit_tiny_patch16_224', img_size=64, patch_size=16, depth=2, embed_dim=24), images(64), ''),
    'peft: LoRA':(lambda: adapted(peft.LoraConfig(target_modules=['c_attn'], r=2), gpt2(use_cache=False)), tokens(words), ''),
    'peft: IA3':(lambda: adapted(peft.IA3Config(target_modules=['query','value'], feedforward_modules=[]), labelled('Bert')), tokens(classes), ''),
    'torch_geometric: GCN':(part(net, 'GCN'), graph, ''),
    'torch_geometric: GraphSAGE':(part(net, 'GraphSAGE'), graph, ''),
    'torch_geometric: GAT':(part(net, 'GAT', heads=2), graph, ''),
    'torch_geometric: GIN':(part(net, 'GIN'), graph, '')}

def trained(name, fuse):
    make,batch,_ = MODELS[name]
    torch.manual_seed(0)
    model,data = make(),[batch() for _ in range(4)]
    loss_func,targ = None if 'labels' in data[0] else F.cross_entropy,'y' if 'y' in data[0] else None
    learn = Learner(DataLoaders(data, targ=targ), model, loss_func, lr=.001, opt_func=torch.optim.SGD, cbs=[])
    if fuse: learn.fuse(backend='aten', check_every=None)
    torch.manual_seed(1)
    with learn.no_bar(), learn.no_logging(): learn.fit(2)
    return learn

def compare(name):
    a,b = (trained(name, fuse) for fuse in (True, False))
    for (k,x),y in zip(a.model.state_dict().items(), b.model.state_dict().values(), strict=True):
        torch.testing.assert_close(x, y, atol=1e-5, rtol=1e-3, msg=lambda m, k=k: f'{k}: {m}')
    report = a.fuse_report()
    return sum(report.fused.values()),[o for o in report.eager if 'first step' not in o]

@pytest.mark.parametrize('name', MODELS)
def test_a_model_of_a_package_trains_the_same(name):
    n,whys = compare(name)
    why = MODELS[name][2]
    assert n==7 and not whys if not why else not n and len(whys)==1 and why in whys[0], (n, whys)

if __name__=='__main__':
    for name in sys.argv[1:] or MODELS:
        try: print(name, *compare(name), flush=True)
        except Exception as e: print(name, type(e).__name__, str(e)[:600], flush=True)

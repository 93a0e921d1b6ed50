# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Models by name, in groups: {group: {name: function}}.  A function returns the model and a function that calls it, and is
called where new tensors are the GPU's, all of whose memory is zero.  Small configurations, random weights; packages are those
of tools/get-models."""

import torch
from torch import nn

WORDS, LENGTH = 64, 8


def words(length=LENGTH):
    return torch.zeros(2, length, dtype=torch.long)


def pictures(size=32):
    return torch.zeros(2, 3, size, size)


def called_with(model, *arguments, **keywords):
    return model, lambda model: model(*arguments, **keywords)


# ---- one's own -------------------------------------------------------------------------------------------------------


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(WORDS, 32), nn.LSTM(32, 32, num_layers=2), nn.Linear(32, WORDS)

    def forward(self, x):
        output, (hidden, _) = self.lstm(self.embed(x))
        return self.head(output * hidden[-1].sigmoid())


class Variational(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 32), nn.ReLU())
        self.mean, self.spread = nn.Linear(32, 8), nn.Linear(32, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3 * 32 * 32), nn.Unflatten(1, (3, 32, 32)))

    def forward(self, x):
        x = self.encoder(x)
        mean, spread = self.mean(x), self.spread(x)
        code = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        return self.decoder(code), (mean.square() + spread.exp() - spread).mean()


class Down(nn.Sequential):
    def __init__(self, channels, after):
        super().__init__(nn.Conv2d(channels, after, 3, padding=1), nn.GroupNorm(2, after), nn.SiLU(), nn.MaxPool2d(2))


class UNet(nn.Module):
    """Calls itself what it has in lists, and what it makes anew."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([Down(3, 8), Down(8, 16)])
        self.middle = nn.ModuleDict({"conv": nn.Conv2d(16, 16, 1), "act": nn.SiLU(inplace=True)})
        self.up = nn.ModuleList([nn.ConvTranspose2d(16, 8, 2, stride=2), nn.ConvTranspose2d(8, 3, 2, stride=2)])
        self.widen = nn.ModuleList([nn.Conv2d(16, 8, 1), nn.Conv2d(6, 3, 1)])

    def forward(self, x):
        before = []
        for down in self.down:
            before.append(x)
            x = down(x)
        for layer in self.middle.values():
            x = layer(x)
        for up, widen, skip in zip(self.up, [None, self.widen[1]], reversed(before)):
            x = up(x)
            x = self.widen[0](torch.cat([x, skip], 1)) if widen is None else widen(torch.cat([x, skip], 1))
        return nn.Softplus()(x)


def transformer():
    model = nn.Transformer(32, 2, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=64, batch_first=True)
    return called_with(model, torch.zeros(2, LENGTH, 32), torch.zeros(2, LENGTH, 32))


class Recurrent(nn.Module):
    """Cells in a loop of the program."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.GRUCell(8, 16), nn.LSTMCell(16, 16)

    def forward(self, x):
        hidden, state = None, None
        for at in range(x.shape[0]):
            hidden = self.first(x[at], hidden)
            state = self.second(hidden, state)
        return state[0]


def normed():
    """Parametrizations are modules, too, and the class of what has one is made anew."""
    model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(16, 16)), nn.ReLU(),
                          nn.utils.parametrizations.spectral_norm(nn.Linear(16, 16)), nn.BatchNorm1d(16))
    return called_with(model, torch.zeros(4, 16))


OWN = {"lstm": lambda: called_with(LanguageModel(), words()), "vae": lambda: called_with(Variational(), pictures()),
       "u-net": lambda: called_with(UNet(), pictures()), "transformer": transformer,
       "cells": lambda: called_with(Recurrent(), torch.zeros(4, 2, 8)), "parametrized": normed}


# ---- torchvision -----------------------------------------------------------------------------------------------------


def vision(name, size=32, **settings):
    def make():
        from torchvision import models
        return called_with(models.get_model(name, weights=None, **settings), pictures(size))
    return make


def vision_transformer():
    from torchvision import models
    model = models.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64)
    return called_with(model, pictures())


def video():
    from torchvision import models
    return called_with(models.get_model("r3d_18", weights=None), torch.zeros(1, 3, 4, 32, 32))


VISION = {"resnet": vision("resnet18"), "mobilenet": vision("mobilenet_v3_small"), "squeezenet": vision("squeezenet1_1", 64),
          "densenet": vision("densenet121", memory_efficient=True), "shufflenet": vision("shufflenet_v2_x0_5"),
          "efficientnet": vision("efficientnet_b0"), "regnet": vision("regnet_y_400mf"), "convnext": vision("convnext_tiny"),
          "swin": vision("swin_t"), "googlenet": vision("googlenet", 64, init_weights=False), "mnasnet": vision("mnasnet0_5"),
          "segmentation": vision("lraspp_mobilenet_v3_large", 64, weights_backbone=None), "vit": vision_transformer,
          "video": video}


# ---- transformers ----------------------------------------------------------------------------------------------------

SMALL = {"vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 2, "max_position_embeddings": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
         "use_cache": False, "experts_implementation": "batched_mm"}  # without a number that the GPU has computed
BOTH = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
        "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": WORDS, "use_cache": False, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}


def language(name, inputs=lambda: {"input_ids": words(), "labels": words()}, prepare=lambda model: None, **settings):
    def make():
        import transformers
        kind = getattr(transformers, name)
        model = kind(kind.config_class(**settings))
        prepare(model)
        return called_with(model, **inputs())
    return make


def small(name, inputs=lambda: {"input_ids": words(), "labels": words()}, prepare=lambda model: None, **settings):
    return language(name, inputs, prepare, **{**SMALL, **settings})


def classes():
    return {"input_ids": words(), "labels": torch.zeros(2, dtype=torch.long)}


def of_pictures():
    return {"pixel_values": pictures()}


LANGUAGE = {
    "gpt2": small("GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=2, n_positions=WORDS),
    "llama": small("LlamaForCausalLM"),
    "llama-checkpointed": small("LlamaModel", lambda: {"input_ids": words()},
                                lambda model: model.gradient_checkpointing_enable()),
    "mistral": small("MistralForCausalLM"),
    "gemma2": small("Gemma2ForCausalLM", head_dim=16),
    "phi": small("PhiForCausalLM"),
    "gpt-neox": small("GPTNeoXForCausalLM"),
    "opt": small("OPTForCausalLM", ffn_dim=64, word_embed_proj_dim=32),
    "bloom": language("BloomForCausalLM", vocab_size=WORDS, hidden_size=32, n_layer=2, n_head=2, use_cache=False),
    "mixtral": small("MixtralForCausalLM", num_local_experts=4),
    "qwen3-moe": small("Qwen3MoeForCausalLM", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, head_dim=16),
    "mamba": small("MambaForCausalLM", state_size=4),
    "bert": small("BertForSequenceClassification", classes),
    "roberta": small("RobertaForMaskedLM", type_vocab_size=1),
    "distilbert": language("DistilBertForMaskedLM", vocab_size=WORDS, dim=32, hidden_dim=64, n_layers=2, n_heads=2,
                           max_position_embeddings=WORDS),
    "electra": small("ElectraForSequenceClassification", classes, embedding_size=16),
    "albert": small("AlbertForMaskedLM", embedding_size=16),  # calls one layer again and again
    "t5": language("T5ForConditionalGeneration", vocab_size=WORDS, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2,
                   decoder_start_token_id=0, use_cache=False),
    "bart": language("BartForConditionalGeneration", max_position_embeddings=WORDS, **BOTH),
    "whisper": language("WhisperForConditionalGeneration", lambda: {"input_features": torch.zeros(1, 8, 32), "labels": words()[:1]},
                        num_mel_bins=8, max_source_positions=16, max_target_positions=WORDS, **BOTH),
    "wav2vec2": small("Wav2Vec2Model", lambda: {"input_values": torch.zeros(1, 800)}, conv_dim=(16, 16), conv_stride=(5, 2),
                      conv_kernel=(10, 3), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, layerdrop=0.0,
                      apply_spec_augment=False),
    "vit": small("ViTForImageClassification", of_pictures, image_size=32, patch_size=8),
    "swin": language("SwinForImageClassification", of_pictures, image_size=32, patch_size=4, embed_dim=16, depths=(1, 1),
                     num_heads=(2, 2), window_size=4),
    "convnext": language("ConvNextForImageClassification", of_pictures, hidden_sizes=(8, 8, 16, 16), depths=(1, 1, 1, 1)),
    "clip": language("CLIPModel", lambda: {"input_ids": words(), "pixel_values": pictures(), "return_loss": True},
                     text_config=SMALL, vision_config={**SMALL, "image_size": 32, "patch_size": 8}, projection_dim=16),
}


# ---- diffusers -------------------------------------------------------------------------------------------------------


def unet():
    import diffusers
    model = diffusers.UNet2DModel(sample_size=16, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=4,
                                  down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    return called_with(model, pictures(16), torch.zeros(2, dtype=torch.long))


def unet_of_text():
    import diffusers
    model = diffusers.UNet2DConditionModel(
        sample_size=16, in_channels=3, out_channels=3, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=4,
        cross_attention_dim=32, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    return called_with(model, pictures(16), torch.zeros(2, dtype=torch.long), encoder_hidden_states=torch.zeros(2, LENGTH, 32))


def autoencoder():
    import diffusers
    model = diffusers.AutoencoderKL(block_out_channels=(16, 32), norm_num_groups=4, latent_channels=2,
                                    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
    return called_with(model, pictures(16), sample_posterior=True)


def diffusion_transformer():
    import diffusers
    model = diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=16, in_channels=3, out_channels=3, num_layers=2,
                                            sample_size=16, num_embeds_ada_norm=10)
    return called_with(model, pictures(16), timestep=torch.zeros(2, dtype=torch.long), class_labels=torch.zeros(2, dtype=torch.long))


DIFFUSION = {"u-net": unet, "u-net of text": unet_of_text, "vae": autoencoder, "dit": diffusion_transformer}

ZOOS = {"own": OWN, "vision": VISION, "language": LANGUAGE, "diffusion": DIFFUSION}

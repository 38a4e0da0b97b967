"""Transformers of text: BERT's encoder, GPT's and Llama's decoders."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tests.support.exported.layers import perceptron

WORDS = 64
LENGTH = 12


class SelfAttention(nn.Module):
    """Attention with several heads, written out; `mask` is added to the scores."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length, width = x.shape
        size = width // self.heads
        shape = batch, length, self.heads, size
        parts = self.queries_keys_values(x).chunk(3, -1)
        queries, keys, values = (part.view(shape).transpose(1, 2) for part in parts)
        scores = queries @ keys.transpose(2, 3) / math.sqrt(size)
        if mask is not None:
            scores = scores + mask
        mixed = scores.softmax(-1) @ values
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A block that normalises before attention and before the perceptron, as GPT-2's."""

    def __init__(self, width: int, heads: int, activation: type[nn.Module] = nn.GELU) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads)
        self.perceptron = perceptron(width, 4 * width, width, activation=activation)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.first(x), mask)
        return x + self.perceptron(self.second(x))


class Bert(nn.Module):
    """BERT: three embeddings, encoder layers that normalise afterwards, a mask of padding."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Embedding(LENGTH, width)
        self.kinds = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.attention = nn.ModuleList(SelfAttention(width, heads) for _ in range(layers))
        self.perceptrons = nn.ModuleList(
            perceptron(width, 4 * width, width, activation=nn.GELU) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, words: Tensor, mask: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(words.shape[1])
        x = self.norm(self.words(words) + self.places(places) + self.kinds(kinds))
        hidden = (1.0 - mask[:, None, None].to(torch.float32)) * -10000.0
        for at, (attention, inner) in enumerate(zip(self.attention, self.perceptrons, strict=True)):
            x = self.norms[2 * at](x + attention(x, hidden))
            x = self.norms[2 * at + 1](x + inner(x))
        return x, torch.tanh(self.pooler(x[:, 0]))


class Gpt(nn.Module):
    """GPT-2: causal attention, GELU by tanh, logits by the embedding's own matrix."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Embedding(LENGTH, width)
        self.blocks = nn.ModuleList(Block(width, heads, TanhGelu) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, words: Tensor) -> Tensor:
        length = words.shape[1]
        x = self.words(words) + self.places(torch.arange(length))
        future = torch.ones(length, length).triu(1).bool()
        mask = torch.zeros(length, length).masked_fill(future, float("-inf"))
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x) @ self.words.weight.t()


class TanhGelu(nn.GELU):
    """GELU as GPT-2 approximates it."""

    def __init__(self) -> None:
        super().__init__(approximate="tanh")


class Llama(nn.Module):
    """Llama: normalisation by the root mean square, rotary positions, grouped queries, SwiGLU."""

    def __init__(self, width: int = 32, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, 4, 2) for _ in range(layers))
        self.norm = RootMeanSquareNorm(width)
        self.head = nn.Linear(width, WORDS, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class RootMeanSquareNorm(nn.Module):
    """RMSNorm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class LlamaBlock(nn.Module):
    """A block of Llama; `groups` heads of keys and values serve all heads of queries."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.size = width // heads
        self.first, self.second = RootMeanSquareNorm(width), RootMeanSquareNorm(width)
        self.queries = nn.Linear(width, width, bias=False)
        self.keys = nn.Linear(width, groups * self.size, bias=False)
        self.values = nn.Linear(width, groups * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        rates = 10000.0 ** (-torch.arange(0, self.size, 2) / self.size)
        angles = torch.arange(LENGTH)[:, None] * rates
        self.register_buffer("cosines", torch.cat((angles, angles), -1).cos())
        self.register_buffer("sines", torch.cat((angles, angles), -1).sin())

    def forward(self, x: Tensor) -> Tensor:
        x = x + self._attention(self.first(x))
        inner = self.second(x)
        return x + self.down(nn.functional.silu(self.gate(inner)) * self.up(inner))

    def _attention(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        shape = batch, length, -1, self.size
        queries, keys, values = (
            layer(x).view(shape).transpose(1, 2) for layer in (self.queries, self.keys, self.values)
        )
        queries, keys = self._rotated(queries), self._rotated(keys)
        repeats = queries.shape[1] // keys.shape[1]
        mixed = nn.functional.scaled_dot_product_attention(
            queries, _repeated(keys, repeats), _repeated(values, repeats), is_causal=True
        )
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def _rotated(self, x: Tensor) -> Tensor:
        low, high = x.chunk(2, -1)
        length = x.shape[2]
        return x * self.cosines[:length] + torch.cat((-high, low), -1) * self.sines[:length]


def _repeated(x: Tensor, repeats: int) -> Tensor:
    """Each head `repeats` times."""
    batch, groups, length, size = x.shape
    wide = x[:, :, None].expand(batch, groups, repeats, length, size)
    return wide.reshape(batch, groups * repeats, length, size)

#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// x[T,M] -> qkv[n T, ((heads + key_value_heads) W + key_value_heads V) / n] for the tokens of the
/// n ranks that share dense matrices: the columns that attention reads, before angles turn them,
/// made from latents (latent_keys.h). With L = latent_rank columns of keys and values, Q of
/// queries, R that turn and N = W - R:
///   q = rms(x A) B, A[M,Q], B[Q,heads W]; x B where Q is 0
///   kv = rms(x C) D, C[M,L], D[L,key_value_heads (N + V)], and x E for all heads, E[M,R]
/// [DeepSeek-V2, Eqs. 9 to 16]. Every rank computes A, C, E and the norms for its own tokens, and B
/// and D for its heads.
Layer latent_queries_keys_values(LayerBuilder& build, TensorId x);

}  // namespace moe

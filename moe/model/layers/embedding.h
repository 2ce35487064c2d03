#pragma once

#include "moe/model/layer_builder.h"

namespace moe {

/// tokens i32[T] -> x[T,M]: the row of a token in a table, plus the row of its position in another
/// table where positions are learned; by embedding_factor. Its backward returns -1, since token ids have no gradient.
Layer embedding(LayerBuilder& build);

/// token_table[V,M], which a tied head uses too. The first call in a pipeline stage makes it; that
/// of a later stage is a copy. Where ranks cut the vocabulary, it has this rank's share of the
/// rows.
TensorId token_table(LayerBuilder& build);

/// ids i32[T] -> i32[n*T,1]: those of the n ranks that cut the vocabulary; ids itself where none
/// do.
TensorId gather_ids(LayerBuilder& build, TensorId ids, const std::string& name);

}  // namespace moe

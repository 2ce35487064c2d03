#pragma once

#include "moe/model/published/published_class.h"

/// Parts that every class has, and those that several share.
namespace moe::parts {

/// The angles of rotary positions: `rope_parameters`, `rope_scaling`, `rope_theta`,
/// `partial_rotary_factor`.
extern const ConfigPart angles;
/// `sliding_window`, `use_sliding_window`, `layer_types`
extern const ConfigPart windows;
/// Blocks without experts as Qwen has them: `decoder_sparse_step`, `mlp_only_layers`
extern const ConfigPart listed_dense_blocks;
/// A width of shared experts together, by the gate of Qwen2: `shared_expert_intermediate_size`
extern const ConfigPart gated_shared_width;
/// A router that looks for the two best experts of each group.
extern const ConfigPart best_of_groups;

/// Divides the blocks as `dense` says. Throws InputError at `key` where no keys of a model do.
void set_dense_blocks(Model& model, const std::vector<bool>& dense, const Config& config,
                      std::string_view key);

}  // namespace moe::parts

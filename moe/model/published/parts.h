#pragma once

#include "moe/model/published/published_class.h"

/// Parts that every class has, and those that several share.
namespace moe::parts {

/// The angles of rotary positions: `rope_parameters`, `rope_scaling`, `rope_theta`,
/// `partial_rotary_factor`.
extern const ConfigPart angles;
/// The angles of blocks with the window, for classes with angles_by_kind: `rope_parameters`
extern const ConfigPart angles_by_kind;
/// `sliding_window`, `use_sliding_window`, `layer_types`
extern const ConfigPart windows;
/// Blocks without experts as Qwen has them: `decoder_sparse_step`, `mlp_only_layers`
extern const ConfigPart listed_dense_blocks;
/// Blocks without experts by the kind of each: `mlp_layer_types`
extern const ConfigPart kinds_of_blocks;
/// A width of shared experts together, by the gate of Qwen2: `shared_expert_intermediate_size`
extern const ConfigPart gated_shared_width;
/// A router that looks for the two best experts of each group.
extern const ConfigPart best_of_groups;

/// Latent attention as DeepSeek has it: `kv_lora_rank`, `q_lora_rank`, `qk_nope_head_dim`,
/// `qk_rope_head_dim`, `v_head_dim`
extern const ConfigPart latent_attention;

/// Reads the width of all shared experts together, which must be a whole number of experts.
/// `of_expert`: the key of the width of one.
void read_shared_width(const Config& config, std::string_view key, std::int64_t fallback,
                       std::string_view of_expert, Model& model);

/// For parts that no key of config.json needs.
void write_nothing(const Model& model, const PublishedClass& of, Json& config);

/// Divides the blocks as `dense` says: some first ones and of the others all but every n-th, or by
/// a block_pattern.
void set_dense_blocks(Model& model, const std::vector<bool>& dense);

/// Says which blocks turn queries and keys, where not all do.
void set_turned_blocks(Model& model, const std::vector<bool>& turned);
/// The blocks with the window do, and no others.
void turn_blocks_with_window(Model& model);

/// The object that says the angles; none where the file has none. Where the class has one for each
/// kind of block: that of blocks without the window.
std::optional<InputObject> rope_of(const Config& config, const PublishedClass& of);
/// What YaRN multiplies turned columns by, for angles that are `factor` times slower.
double yarn_magnitude(double factor, double weight = 1);

}  // namespace moe::parts

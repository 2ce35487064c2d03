#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "moe/program/groups.h"
#include "moe/program/tensor.h"

namespace moe {

enum class Optimizer : std::uint8_t { adam, sgd };

/// A decoder-only transformer whose every `moe_every`-th feed-forward network is a mixture of
/// experts, with the batch and the optimizer it is trained with. Read from a TOML file.
struct Model {
  std::string name;
  std::int64_t vocabulary = 256;
  std::int64_t sequence_length = 64;
  std::int64_t d_model = 64;
  std::int64_t d_hidden = 256;
  int heads = 4;
  int blocks = 2;
  int moe_every = 2;  ///< blocks moe_every - 1, 2 moe_every - 1, ... have experts; 0 = none
  int experts = 8;
  int choices = 1;                        ///< k of top-k: 1 or 2
  std::string gate = "softmax";           ///< gates/gates.h
  std::string expert = "gpt";             ///< experts/experts.h
  std::optional<double> capacity_factor;  ///< none = dropless
  /// Groups of the global batch with a capacity each; 0 = one per rank and micro-batch.
  int capacity_groups = 0;
  double auxiliary_weight = 0.01;
  std::int64_t global_batch = 8;  ///< sequences per iteration over all ranks
  int micro_batches = 1;          ///< equal parts of it, whose gradients are added up
  Optimizer optimizer = Optimizer::adam;
  double learning_rate = 1e-3;
  double momentum = 0.9;
  std::int64_t seed = 1;
  DType dtype = DType::f32;
};

/// Reads `path`. Throws InputError "FILE:LINE: key: expected ..., got ..." for what is unknown,
/// missing or out of range.
Model load_model(const std::filesystem::path& path);
/// A file as it stands, or the name of one in `directory` without its ".toml". Throws InputError
/// listing the names there are.
std::filesystem::path find_input(const std::string& name_or_path,
                                 const std::filesystem::path& directory);
std::string to_json(const Model& model);

/// Throws std::invalid_argument naming the values when the model cannot be divided over these
/// groups.
void check(const Model& model, const Groups& groups);

}  // namespace moe

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "moe/rows/tensor.h"
#include "moe/train/hugging_face/counterparts.h"
#include "moe/train/hugging_face/pretrained.h"

namespace moe {

/// A matrix of a checkpoint and the tensors of transformers that it is made of.
struct MadeMatrix {
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::f32;
  std::vector<const Counterpart*> parts{};  ///< zeros where there is none
};

/// Makes the matrix in pieces of whole rows: as many as `piece_bytes` hold, and one at least. No
/// more than a piece, and as much of a tensor as is read for it, is in memory. Throws InputError
/// with file and tensor for a number that `dtype` does not hold.
void make_in_pieces(const MadeMatrix& matrix, const Pretrained& from, const BytesTaker& take,
                    std::int64_t piece_bytes = std::int64_t{32} << 20);

/// True where every master of the parameter is the parameter: it is not rounded.
bool is_not_rounded(const std::vector<const Counterpart*>& parts, const Pretrained& from);

}  // namespace moe

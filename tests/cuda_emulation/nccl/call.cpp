#include "tests/cuda_emulation/nccl/call.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace moelab::cuda_emulation::nccl {
namespace {

struct TypeFacts {
  ncclDataType_t type;
  int bytes;
  const char* name;
};
constexpr TypeFacts kTypes[] = {
    {ncclInt8, 1, "ncclInt8"},         {ncclInt32, 4, "ncclInt32"},
    {ncclInt64, 8, "ncclInt64"},       {ncclFloat16, 2, "ncclFloat16"},
    {ncclFloat32, 4, "ncclFloat32"},   {ncclFloat64, 8, "ncclFloat64"},
    {ncclBfloat16, 2, "ncclBfloat16"},
};

const TypeFacts* find(ncclDataType_t type) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.type == type) return &facts;
  }
  return nullptr;
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// Rounds to the nearest, ties to even.
std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const auto mantissa = static_cast<float>(bits & 1023);
  float magnitude = 0;
  if (exponent == 31) {
    magnitude = (bits & 1023) != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, -24);
  } else {
    magnitude = std::ldexp(1024 + mantissa, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Rounds to the nearest, ties to even.
std::uint16_t to_half(float x) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
  if (std::isnan(x)) return static_cast<std::uint16_t>(sign | 0x7e00);
  const float magnitude = std::fabs(x);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  // The distance of two neighbours is 2^(exponent - 11), and 2^-24 among the smallest.
  const int step = std::max(exponent - 11, -24);
  const float steps = std::nearbyint(std::ldexp(magnitude, -step));
  if (std::isinf(magnitude) || std::ldexp(steps, step) > 65504) {
    return static_cast<std::uint16_t>(sign | 0x7c00);
  }
  // A mantissa that is full carries over into the exponent by itself.
  const int biased = step == -24 ? 0 : step + 24;
  return static_cast<std::uint16_t>(sign + (biased << 10) + static_cast<int>(steps));
}

template <typename Stored, typename Add>
void add_each(std::byte* to, const std::byte* from, std::int64_t count, const Add& add) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored a, b;
    std::memcpy(&a, to + i * sizeof(Stored), sizeof a);
    std::memcpy(&b, from + i * sizeof(Stored), sizeof b);
    a = add(a, b);
    std::memcpy(to + i * sizeof(Stored), &a, sizeof a);
  }
}

}  // namespace

bool is_known(ncclDataType_t type) { return find(type) != nullptr; }

int bytes_of(ncclDataType_t type) {
  const TypeFacts* const facts = find(type);
  if (facts == nullptr) throw std::invalid_argument("an unknown type of NCCL");
  return facts->bytes;
}

const char* name_of(NcclOp op) {
  switch (op) {
    case NcclOp::all_reduce:
      return "ncclAllReduce";
    case NcclOp::all_gather:
      return "ncclAllGather";
    case NcclOp::reduce_scatter:
      return "ncclReduceScatter";
    case NcclOp::broadcast:
      return "ncclBroadcast";
    case NcclOp::reduce:
      return "ncclReduce";
    case NcclOp::send:
      return "ncclSend";
    case NcclOp::receive:
      return "ncclRecv";
  }
  return "?";
}

std::string text_of(NcclOp op, ncclDataType_t type, std::int64_t count, int peer) {
  const TypeFacts* const facts = find(type);
  std::string text = std::string(name_of(op)) + "(" + std::to_string(count) + " " +
                     (facts == nullptr ? "?" : facts->name);
  if (op == NcclOp::send) text += " to rank " + std::to_string(peer);
  if (op == NcclOp::receive) text += " from rank " + std::to_string(peer);
  if (op == NcclOp::broadcast || op == NcclOp::reduce) text += ", root " + std::to_string(peer);
  return text + ")";
}

std::string text_of(const NcclKernel& kernel) {
  if (kernel.calls.empty()) return "an empty group";
  const NcclCall& first = kernel.calls.front();
  const std::string text = text_of(first.op, first.type, first.count, first.peer);
  if (kernel.calls.size() == 1) return text;
  return text + " and " + std::to_string(kernel.calls.size() - 1) + " more of its group";
}

void add_to(std::byte* to, const std::byte* from, std::int64_t count, ncclDataType_t type) {
  const auto wrap = [](auto a, auto b) {
    using Signed = decltype(a);
    using Unsigned = std::make_unsigned_t<Signed>;
    return static_cast<Signed>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  };
  const auto plain = [](auto a, auto b) { return a + b; };
  switch (type) {
    case ncclInt8:
      return add_each<std::int8_t>(to, from, count, wrap);
    case ncclInt32:
      return add_each<std::int32_t>(to, from, count, wrap);
    case ncclInt64:
      return add_each<std::int64_t>(to, from, count, wrap);
    case ncclFloat16:
      return add_each<std::uint16_t>(to, from, count, [](std::uint16_t a, std::uint16_t b) {
        return to_half(from_half(a) + from_half(b));
      });
    case ncclBfloat16:
      return add_each<std::uint16_t>(to, from, count, [](std::uint16_t a, std::uint16_t b) {
        return to_bf16(from_bf16(a) + from_bf16(b));
      });
    case ncclFloat32:
      return add_each<float>(to, from, count, plain);
    case ncclFloat64:
      return add_each<double>(to, from, count, plain);
  }
}

}  // namespace moelab::cuda_emulation::nccl

#include "moe/train/hugging_face/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "moe/errors.h"
#include "moe/kernels/bf16.h"

namespace moe {
namespace {

/// A half: its sign, 5 bits of exponent with a bias of 15, 10 bits of mantissa. (IEEE 754)
struct Half {
  std::uint16_t bits;

  explicit operator double() const {
    constexpr int kMantissa = 10, kBias = 15, kLargestExponent = 31;
    const double sign = bits >> 15 != 0 ? -1 : 1;
    const int exponent = bits >> kMantissa & kLargestExponent, mantissa = bits & 0x3ff;
    if (exponent == kLargestExponent) {
      return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    }
    const bool subnormal = exponent == 0;
    return sign * std::ldexp(subnormal ? mantissa : mantissa + (1 << kMantissa),
                             (subnormal ? 1 : exponent) - kBias - kMantissa);
  }
};

template <class T>
void read_as(std::span<const std::byte> bytes, std::size_t first, std::span<double> to) {
  const auto from = bytes.subspan(first * sizeof(T), to.size() * sizeof(T));
  for (std::size_t i = 0; i < to.size(); ++i) {
    T element;
    std::memcpy(&element, from.data() + i * sizeof(T), sizeof(T));
    to[i] = static_cast<double>(element);
  }
}

template <class T>
void write_as(std::span<const double> elements, std::span<std::byte> bytes) {
  const auto to = bytes.first(elements.size() * sizeof(T));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T element = static_cast<T>(static_cast<Wide<T>>(elements[i]));
    std::memcpy(to.data() + i * sizeof(T), &element, sizeof(T));
  }
}

}  // namespace

bool has_numbers(std::string_view dtype) {
  constexpr std::array<std::string_view, 4> kRead{"F64", "F32", "BF16", "F16"};
  return std::ranges::find(kRead, dtype) != kRead.end();
}

void read_elements(const StoredTensor& tensor, const std::filesystem::path& file, std::size_t first,
                   std::span<double> to) {
  if (tensor.dtype == "F32") return read_as<float>(tensor.bytes, first, to);
  if (tensor.dtype == "F64") return read_as<double>(tensor.bytes, first, to);
  if (tensor.dtype == "BF16") return read_as<Bf16>(tensor.bytes, first, to);
  if (tensor.dtype == "F16") return read_as<Half>(tensor.bytes, first, to);
  throw InputError(fmt::format("{}: tensor {}: is {}: expected F64, F32, BF16 or F16",
                               file.string(), tensor.name, tensor.dtype));
}

std::vector<double> elements_of(const StoredTensor& tensor, const std::filesystem::path& file) {
  std::vector<double> elements(tensor.bytes.size() /
                               static_cast<std::size_t>(element_bytes(tensor.dtype, file)));
  read_elements(tensor, file, 0, elements);
  return elements;
}

void store_elements(std::string_view dtype, std::span<const double> elements,
                    std::span<std::byte> to) {
  if (dtype == "F32") return write_as<float>(elements, to);
  if (dtype == "F64") return write_as<double>(elements, to);
  if (dtype == "BF16") return write_as<Bf16>(elements, to);
  throw std::logic_error("store_elements: no such type");
}

std::vector<std::byte> stored_as(std::string_view dtype, const std::vector<double>& elements) {
  std::vector<std::byte> bytes(elements.size() *
                               static_cast<std::size_t>(element_bytes(dtype, "stored_as")));
  store_elements(dtype, elements, bytes);
  return bytes;
}

}  // namespace moe

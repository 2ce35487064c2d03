#include "moe/train/hugging_face/elements.h"

#include <fmt/format.h>

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
std::vector<double> read_as(std::span<const std::byte> bytes) {
  std::vector<double> elements(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    elements[i] = static_cast<double>(element);
  }
  return elements;
}

template <class T>
std::vector<std::byte> write_as(const std::vector<double>& elements) {
  std::vector<std::byte> bytes(elements.size() * sizeof(T));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T element = static_cast<T>(static_cast<Wide<T>>(elements[i]));
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

}  // namespace

std::vector<double> elements_of(const StoredTensor& tensor, const std::filesystem::path& file) {
  if (tensor.dtype == "F32") return read_as<float>(tensor.bytes);
  if (tensor.dtype == "F64") return read_as<double>(tensor.bytes);
  if (tensor.dtype == "BF16") return read_as<Bf16>(tensor.bytes);
  if (tensor.dtype == "F16") return read_as<Half>(tensor.bytes);
  throw InputError(fmt::format("{}: tensor {}: is {}: expected F64, F32, BF16 or F16",
                               file.string(), tensor.name, tensor.dtype));
}

std::vector<std::byte> stored_as(std::string_view dtype, const std::vector<double>& elements) {
  if (dtype == "F32") return write_as<float>(elements);
  if (dtype == "F64") return write_as<double>(elements);
  if (dtype == "BF16") return write_as<Bf16>(elements);
  throw std::logic_error("stored_as: no such type");
}

}  // namespace moe

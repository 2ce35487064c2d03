#include "moe/ops/pack.h"

#include <stdexcept>

#include "moe/rows/op_sizes.h"

namespace moe {

std::string_view wire_format_name(WireFormat format) {
  switch (format) {
    case WireFormat::bf16:
      return "bf16";
    case WireFormat::int8:
      return "int8";
  }
  throw std::logic_error("wire_format_name: no such format");
}

std::int64_t packed_columns(WireFormat format, std::int64_t columns) {
  switch (format) {
    case WireFormat::bf16:
      return (columns + 1) / 2;
    case WireFormat::int8:
      return 1 + (columns + 3) / 4;
  }
  throw std::logic_error("packed_columns: no such format");
}

Work PackRows::work(const OpSizes& s) const { return s.element_wise(s.in(0), 6); }
Work UnpackRows::work(const OpSizes& s) const { return s.element_wise(s.out(0), 3); }

}  // namespace moe

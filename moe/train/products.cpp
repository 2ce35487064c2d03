#include "moe/train/products.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "moe/program/even_routing.h"
#include "moe/program/row_handling.h"
#include "moe/program/stage_program.h"
#include "moe/rows/op_sizes.h"

namespace moe {
namespace {

/// The products of ops.
class ProductList {
 public:
  ProductList(const Program& program, const Groups& groups, int rank)
      : program_(program),
        member_(index_in_group(groups, GroupKind::expert, rank)),
        padded_(padded_rows(program, groups, rank)),
        binding_(bind(program, even_routing(program, groups), groups, rank)) {}

  void operator()(const Op& op, const Linear&) { forward(op, 1); }
  void operator()(const Op& op, const LinearInputGradient&) { input_gradient(op, 1); }
  void operator()(const Op& op, const LinearWeightGradient& kind) {
    weight_gradient(op, 1, kind.accumulate);
  }
  void operator()(const Op& op, const ExpertLinear& kind) { forward(op, kind.local_experts); }
  void operator()(const Op& op, const ExpertLinearInputGradient& kind) {
    input_gradient(op, kind.local_experts);
  }
  void operator()(const Op& op, const ExpertLinearWeightGradient& kind) {
    weight_gradient(op, kind.local_experts, kind.accumulate);
  }
  template <class Other>
  void operator()(const Op&, const Other&) {}

  std::vector<Product> all() const { return {products_.begin(), products_.end()}; }

 private:
  const Tensor& tensor(const Use& use) const { return program_.tensors[use.tensor]; }

  void forward(const Op& op, int experts) {
    const Tensor &x = tensor(op.reads[0]), &y = tensor(op.writes[0]);
    const auto share = [](const auto& kind) {
      if constexpr (requires { kind.bias_share; }) {
        return kind.bias_share;
      } else {
        return 1.0;
      }
    };
    const bool biased = op.reads.size() > 2 && tensor(op.reads[2]).role != Role::replica &&
                        std::visit(share, op.kind) == 1;
    add(op, experts,
        {.in = x.dtype, .out = y.dtype, .biased = biased, .n = y.columns, .k = x.columns});
  }
  void input_gradient(const Op& op, int experts) {
    const Tensor &dy = tensor(op.reads[0]), &dx = tensor(op.writes[0]);
    add(op, experts,
        {.in = dy.dtype, .out = dx.dtype, .transpose_b = true, .n = dx.columns, .k = dy.columns});
  }
  void weight_gradient(const Op& op, int experts, bool accumulate) {
    const Tensor &x = tensor(op.reads[0]), &dy = tensor(op.reads[1]);
    add(op, experts,
        {.in = x.dtype,
         .out = wide_of(x.dtype),
         .transpose_a = true,
         .accumulate = accumulate,
         .m = x.columns,
         .n = dy.columns});
  }

  /// `product` lacks its number of tokens, which is that of the first read. `experts`: slots, some
  /// of which may be empty.
  void add(const Op& op, int experts, Product product) {
    const Use& use = op.reads[0];
    const Tensor& rows = tensor(use);
    if (rows.rows_are != Rows::fixed) {
      experts = binding_.layouts.at(routed_layer(rows)).slots.in_order.held_by(member_);
    }
    const std::int64_t each = rows_of(rows, use.slice, binding_) / experts;
    if (each == 0) return;
    product = with_tokens(product, each);
    if (rows.rows_are == Rows::fixed) {
      products_.insert(product);
    } else if (is_bound(rows, padded_)) {
      product.batch = experts;
      products_.insert(product);
    } else {
      for (const std::int64_t tokens : {each / 2, each, 2 * each}) {
        if (tokens == 0) continue;
        Product one = with_tokens(product, tokens);
        products_.insert(one);
        if (experts == 1) continue;
        one.grouped = true;
        one.batch = experts;
        products_.insert(one);
      }
    }
  }

  const Program& program_;
  int member_;  // of its expert group
  Binding padded_, binding_;
  std::set<Product> products_;
};

}  // namespace

std::vector<Product> products_of(const Program& program, const Groups& groups, int rank) {
  const Program stage = stage_program(program, stage_of(groups, rank)).program;
  ProductList list(stage, groups, rank);
  for (const Op& op : stage.ops) {
    std::visit([&](const auto& kind) { list(op, kind); }, op.kind);
  }
  return list.all();
}

}  // namespace moe

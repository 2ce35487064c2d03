#include "moe/model/experts/experts.h"

#include "moe/model/named.h"

namespace moe {

const std::vector<Expert>& experts() {
#define MOELAB_LIST_EXPERT(name, description) {#name, description, name##_experts},
  static const std::vector<Expert> all{MOELAB_EXPERTS(MOELAB_LIST_EXPERT)};
#undef MOELAB_LIST_EXPERT
  return all;
}

const Expert& expert_named(std::string_view name) {
  return find_named(experts(), name, "expert network");
}

}  // namespace moe

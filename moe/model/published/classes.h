#pragma once

#include "moe/model/published/published_class.h"

/// Each class, defined in a file with those that are like it.
namespace moe::classes {

PublishedClass mixtral();
PublishedClass qwen2_moe();
PublishedClass qwen3_moe();
PublishedClass glm4_moe();
PublishedClass dots1();
PublishedClass gpt_oss();
PublishedClass olmoe();
PublishedClass minimax_m2();
PublishedClass granitemoe();

}  // namespace moe::classes

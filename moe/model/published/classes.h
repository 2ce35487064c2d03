#pragma once

#include "moe/model/published/published_class.h"

/// Each class, defined in a file with those that are like it.
namespace moe::classes {

PublishedClass mixtral();
PublishedClass aria_text();
PublishedClass qwen2_moe();
PublishedClass qwen3_moe();
PublishedClass deepseek_v2();
PublishedClass deepseek_v3();
PublishedClass kimi_k2();
PublishedClass glm4_moe();
PublishedClass glm4_moe_lite();
PublishedClass sarvam_mla();
PublishedClass sarvam_moe();
PublishedClass solar_open();
PublishedClass dots1();
PublishedClass hy_v3();
PublishedClass ernie4_5_moe();
PublishedClass gpt_oss();
PublishedClass olmoe();
PublishedClass minimax_m2();
PublishedClass granitemoe();
PublishedClass granitemoeshared();
PublishedClass granitemoe_swa();
PublishedClass exaone_moe();
PublishedClass flint();
PublishedClass mellum();
PublishedClass flex_olmo();
PublishedClass hunyuan_v1_moe();

}  // namespace moe::classes

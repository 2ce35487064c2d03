#include "tuner/costs/cluster_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "moe/errors.h"
#include "moe/input/toml.h"

namespace tuner::cluster_fits_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> kBothLinks{"inter_node", "intra_node"};

/// The fits of tables that begin with "[fit.", or the error that names the file.
std::map<std::string, LinearFit, std::less<>> fits_of(
    const std::string& text, const std::vector<std::string>& links = kBothLinks) {
  const moe::InputDocument document = moe::parse_toml(text, "c.toml");
  CostModel costs;
  read_fits(document.object().object("fit"), links, {}, costs);
  document.no_other_keys();
  return costs.fits;
}
std::string refusal_of(const std::string& text,
                       const std::vector<std::string>& links = kBothLinks) {
  try {
    fits_of(text, links);
  } catch (const moe::InputError& error) {
    return error.what();
  }
  return "none";
}
std::string byte_fit(const std::string& name, const std::string& more = "") {
  return "[fit." + name + "]\n" + more + "alpha_s = 1e-6\nbeta_s_per_byte = 1e-9\n";
}
std::string flop_fit(const std::string& name) {
  return "[fit." + name + "]\nalpha_s = 1e-6\nbeta_s_per_flop = 1e-11\n";
}

TEST(ClusterFits, AreOfKindsShapesAndTypesThatCostsUse) {
  const auto fits =
      fits_of(flop_fit("gemm") + flop_fit("gemm_f64") + flop_fit("linear_bf16") +
              flop_fit("\"expert_linear[4x6]\"") + byte_fit("memory") + byte_fit("copy") +
              byte_fit("gelu") + byte_fit("round_bf16") + byte_fit("fetch_rows"));
  EXPECT_EQ(fits.size(), 9u);
  EXPECT_EQ(fits.at("linear_bf16").unit, "flop");
  EXPECT_EQ(fits.at("expert_linear[4x6]").unit, "flop");
  EXPECT_EQ(fits.at("round_bf16").unit, "byte");
}

TEST(ClusterFits, OfWhatIsNoOpAreRefusedWithWhatIsMeant) {
  EXPECT_THAT(refusal_of(flop_fit("expert_liner")),
              AllOf(HasSubstr("c.toml:1: fit.expert_liner: no kind of op is called that; is "
                              "expert_linear meant?"),
                    HasSubstr("General fits are gemm, memory, copy, all_to_all")));
  EXPECT_THAT(refusal_of(byte_fit("nonsense")), HasSubstr("no kind of op is called that; general"));
  EXPECT_THAT(refusal_of(flop_fit("memory_f64")), HasSubstr("fit.memory_f64: no kind"))
      << "bytes are bytes";
}

TEST(ClusterFits, OfCommunicationHaveALink) {
  EXPECT_THAT(refusal_of(byte_fit("all_reduce")), HasSubstr("fit.all_reduce: names no link"));
  EXPECT_TRUE(fits_of(byte_fit("all_reduce"), {"intra_node"}).contains("all_reduce/intra_node"))
      << "the only one";
  const std::string link = "link = \"inter_node\"\n";
  for (const char* kind : {"send_experts", "return_gradients", "exchange_counts", "broadcast"}) {
    EXPECT_TRUE(fits_of(byte_fit(kind, link)).contains(link_key(kind, "inter_node"))) << kind;
  }
  EXPECT_THAT(refusal_of(byte_fit("gelu", link)), HasSubstr("fit.gelu.link: links are of"));
}

TEST(ClusterFits, HaveTheUnitOfTheirOps) {
  EXPECT_THAT(refusal_of(byte_fit("gemm")),
              HasSubstr("fit.gemm.beta_s_per_byte: expected beta_s_per_flop: such ops cost by the "
                        "flop"));
  EXPECT_THAT(refusal_of(flop_fit("gelu")), HasSubstr("expected beta_s_per_byte"));
}

TEST(ClusterFits, OfOpsThatWouldTakeNoTimeAreRefused) {
  EXPECT_THAT(refusal_of("[fit.gemm]\nalpha_s = 0\nbeta_s_per_flop = 0\n"),
              HasSubstr("c.toml:3: fit.gemm.beta_s_per_flop: these ops would take no time"));
  EXPECT_EQ(refusal_of("[fit.memory]\nalpha_s = 1e-6\nbeta_s_per_byte = 0\n"), "none");
  EXPECT_THAT(
      refusal_of("[fit.all_to_all]\nlink = \"inter_node\"\nalpha_s = 1\nbeta_s_per_byte = 0\n"),
      HasSubstr("beta_s_per_byte: expected seconds per byte, above 0"));
}

TEST(ClusterFits, ByPointsKeepTheTimeOfTheirBytesOverALinkWithoutLatency) {
  const LinearFit flat = fit_points({{1000, 1e-4}, {50'000, 1e-4}}, "byte");
  const LinearFit changed = over_changed_link(flat, {1e9, 5e-5}, {1e9, 0});
  EXPECT_NEAR(changed.points[0].seconds, 1e-6, 1e-15);
  EXPECT_NEAR(changed.points[1].seconds, 5e-5, 1e-15);
}

TEST(ClusterFits, OverALinkWithoutLatencyGetItsLatency) {
  LinearFit fit;
  fit.alpha_s = 1e-3;
  fit.beta_s_per_unit = 1e-9;
  const LinearFit changed = over_changed_link(fit, {1e9, 0}, {2e9, 1e-4});
  EXPECT_DOUBLE_EQ(changed.alpha_s, 1.1e-3);
  EXPECT_DOUBLE_EQ(changed.beta_s_per_unit, 5e-10);
}

TEST(ClusterFits, AreGeneralWhereTheyStandForManyKinds) {
  for (const char* key : {"gemm", "gemm_bf16", "memory", "copy", "all_to_all/inter_node"}) {
    EXPECT_TRUE(is_general_fit(key)) << key;
  }
  for (const char* key : {"linear", "linear_f64", "send_experts/inter_node", "linear[4x6]"}) {
    EXPECT_FALSE(is_general_fit(key)) << key;
  }
}

}  // namespace
}  // namespace tuner::cluster_fits_test

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/viewer/app/open_app.h"
#include "tests/viewer/drawn.h"

namespace viewer::fits_test {
namespace {

class FitsTest : public ::testing::Test, public OpenApp {};

db::Fit fit_of(std::int64_t run, const std::string& op, const std::string& unit) {
  db::Fit fit;
  fit.run_id = run;
  fit.op = op;
  fit.device = "cpu";
  fit.alpha_s = 2e-5;
  fit.beta_s_per_unit = 4e-9;
  fit.unit = unit;
  fit.samples = 12;
  fit.r2 = 0.98;
  fit.max_units = 1e6;
  fit.max_relative_residual = 0.4;
  return fit;
}

TEST_F(FitsTest, AreDrawnWhateverTheirUnit) {
  const std::vector<db::Fit> fits = {
      fit_of(ids.study_run, "all_to_all", "byte"), fit_of(ids.study_run, "gemm", "flop"),
      fit_of(ids.study_run, "gate", "row"), fit_of(ids.study_run, "", "")};
  db::insert(connection, fits);
  App app = open();
  show_panel(app, "fits");
  const auto draw = [&] { draw_app(app); };
  headless.frame(draw);
  const int few = ImGui::GetDrawData()->TotalVtxCount;
  db::insert(connection, std::span(fits).first(1));
  const std::vector<db::Fit> more = {fit_of(ids.study_run, "add", "byte")};
  db::insert(connection, more);
  headless.frame(draw);
  EXPECT_EQ(ImGui::GetDrawData()->TotalVtxCount, few) << "read once";
  headless.press(294, draw);  // F5
  EXPECT_GT(ImGui::GetDrawData()->TotalVtxCount, few);
  EXPECT_EQ(app.session.problem, "");
}

TEST_F(FitsTest, SamplesThatTheirLineMustMeetSayNothingOfItsQuality) {
  const auto draw_with = [&](App& app, int samples, double r2) {
    db::Fit fit = fit_of(ids.study_run, "gemm", "flop");
    fit.samples = samples;
    fit.r2 = r2;
    db::insert(connection, std::span<const db::Fit>(&fit, 1));
    const auto draw = [&] { draw_app(app); };
    headless.press(294, draw);  // F5
    return ImGui::GetDrawData()->TotalVtxCount;
  };
  App app = open();
  show_panel(app, "fits");
  const int of_three = draw_with(app, 3, 0.98);
  EXPECT_LT(draw_with(app, 2, 0.98), of_three);
  EXPECT_LT(draw_with(app, 3, 0), of_three) << "all of one shape, at a line that others gave";
}

TEST_F(FitsTest, OneSampleTellsNoStartUp) {
  db::Fit fit = fit_of(ids.study_run, "gemm", "flop");
  fit.alpha_s = 0;
  fit.samples = 1;
  db::insert(connection, std::span<const db::Fit>(&fit, 1));
  App app = open();
  show_panel(app, "fits");
  headless.frame([&] { draw_app(app); });
  headless.frame([&] { draw_app(app); });
  const std::vector<std::string> texts = drawn_texts();
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "0 s"), 0);
  EXPECT_GT(std::count(texts.begin(), texts.end(), "-"), 0);
}

TEST_F(FitsTest, TheirNetworkNodesErrorAndVerdictAreDrawn) {
  App app = open();
  show_panel(app, "fits");
  const auto draw = [&] { draw_app(app); };
  int rows = 0;
  const auto added_by = [&](const std::function<void(db::Fit&)>& change) {
    headless.press(294, draw);  // F5
    const int before = ImGui::GetDrawData()->TotalVtxCount;
    db::Fit fit = fit_of(ids.study_run, "op " + std::to_string(++rows), "byte");
    change(fit);
    db::insert(connection, std::span<const db::Fit>(&fit, 1));
    headless.press(294, draw);
    return ImGui::GetDrawData()->TotalVtxCount - before;
  };
  added_by([](db::Fit&) {});  // the table appears
  const int plain = added_by([](db::Fit&) {});
  EXPECT_GT(added_by([](db::Fit& fit) { fit.network = "box 1 Gbit/s"; }), plain);
  EXPECT_GT(added_by([](db::Fit& fit) { fit.nodes = 2; }), plain);
  EXPECT_GT(added_by([](db::Fit& fit) { fit.alpha_error_s = 1e-6; }), plain);
  EXPECT_GT(added_by([](db::Fit& fit) { fit.verdict = "alpha not resolved"; }), plain);
}

}  // namespace
}  // namespace viewer::fits_test

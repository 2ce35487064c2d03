#include <gtest/gtest.h>

#include <span>

#include "tests/viewer/app/open_app.h"

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

TEST_F(FitsTest, OneSampleSaysNothingOfTheQualityOfItsLine) {
  const auto draw_with = [&](App& app, int samples) {
    db::Fit fit = fit_of(ids.study_run, "gemm", "flop");
    fit.samples = samples;
    db::insert(connection, std::span<const db::Fit>(&fit, 1));
    const auto draw = [&] { draw_app(app); };
    headless.press(294, draw);  // F5
    return ImGui::GetDrawData()->TotalVtxCount;
  };
  App app = open();
  show_panel(app, "fits");
  const int of_two = draw_with(app, 2);
  EXPECT_LT(draw_with(app, 1), of_two);
}

}  // namespace
}  // namespace viewer::fits_test

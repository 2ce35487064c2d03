#include "db/fit_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/error.h"

namespace db::fit_curve_test {
namespace {

const std::vector<SizeTime> kPoints{{1000, 2}, {2000, 1.5}, {4000, 5}};

TEST(FitCurve, JoinsPointsByStraightPieces) {
  EXPECT_DOUBLE_EQ(seconds_at(kPoints, 1500), 1.75) << "larger calls may take less time";
  EXPECT_DOUBLE_EQ(seconds_at(kPoints, 3000), 3.25);
  EXPECT_DOUBLE_EQ(seconds_at(kPoints, 8000), 12) << "the last piece goes on";
  EXPECT_DOUBLE_EQ(seconds_at(kPoints, 0), 2.5) << "as does the first";
}

TEST(FitCurve, IsNoFasterBeforeItsPointsAndTakesNoLessBeyond) {
  const std::vector<SizeTime> steep{{1000, 1}, {2000, 9}, {3000, 8}};
  EXPECT_DOUBLE_EQ(seconds_at(steep, 500), 0.5) << "the rate of the first point";
  EXPECT_DOUBLE_EQ(seconds_at(steep, 9000), 8);
}

TEST(FitCurve, SurvivesJson) {
  EXPECT_EQ(points_of_json(json_of_points(kPoints)), kPoints);
  EXPECT_EQ(json_of_points({}), "");
  EXPECT_TRUE(points_of_json("").empty());
  for (const char* text : {"[]", "[[1, 2]]", "[[2, 1], [1, 2]]", "[[1, 2], [1, 3]]", "{}", "[1, 2]",
                           "[[1, 2], [3]]", "no json"}) {
    EXPECT_THROW(points_of_json(text), Error) << text;
  }
}

TEST(FitCurve, IsTheLineOfAFitWithoutPoints) {
  Fit fit;
  fit.alpha_s = 1;
  fit.beta_s_per_unit = 0.5;
  EXPECT_DOUBLE_EQ(fitted_s(fit, 4), 3);
  fit.points_json = json_of_points(kPoints);
  EXPECT_DOUBLE_EQ(fitted_s(fit, 3000), 3.25);
}

}  // namespace
}  // namespace db::fit_curve_test

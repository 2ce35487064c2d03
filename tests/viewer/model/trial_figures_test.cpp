#include "viewer/model/trial_figures.h"

#include <gtest/gtest.h>

namespace viewer::trial_figures_test {
namespace {

TrialRow measured_trial() {
  TrialRow row;
  row.trial.planner = "joint";
  row.trial.status = "done";
  row.trial.measured_s = 0.7;
  row.trial.lower_bound_s = 0.638;
  row.figures.min_iteration_s = 0.65;
  return row;
}

TEST(TrialFigures, ATrialIsMeasuredByItsBound) {
  TrialRow row = measured_trial();
  EXPECT_EQ(bound_of(row)->seconds, 0.638);
  EXPECT_FALSE(bound_of(row)->is_broken);
  EXPECT_EQ(bound_text(row), "1.10x its lower bound");
  row.trial.lower_bound_s.reset();
  EXPECT_FALSE(bound_of(row));
  EXPECT_EQ(bound_text(row), "");
}

TEST(TrialFigures, ABoundNeverContradictsTheIterations) {
  TrialRow row = measured_trial();
  row.figures.min_iteration_s = 0.509;
  EXPECT_TRUE(bound_of(row)->is_broken);
  EXPECT_EQ(bound_text(row), "iterations from 509 ms on, below its lower bound of 638 ms");
  row.figures.min_iteration_s.reset();
  row.trial.measured_s = 0.6;
  EXPECT_TRUE(bound_of(row)->is_broken);
}

TEST(TrialFigures, WhatBoundsIsSaidInWords) {
  EXPECT_EQ(bounding_text("rank 0 inter_node"), "the stream inter_node of rank 0");
  EXPECT_EQ(bounding_text("rank 12 out"), "the link out of rank 12");
  EXPECT_EQ(bounding_text("node 1 in"), "the link into node 1");
  EXPECT_EQ(bounding_text("chain to op 7 of rank 3"),
            "a chain of ops that wait for each other, up to op 7 of rank 3");
  EXPECT_EQ(bounding_text("2 processors of 4 ranks"), "2 processors of 4 ranks");
  EXPECT_EQ(bounding_text(""), "");
}

TEST(TrialFigures, ASpeedUpSaysWhatItRestsOn) {
  TrialRow row = measured_trial();
  row.figures.speedup = 2.08;
  row.figures.speedup_against = "sequential";
  EXPECT_EQ(speedup_explanation(row), "over the time of sequential");
  row.figures.least_speedup = 1.9, row.figures.most_speedup = 2.2;
  EXPECT_EQ(speedup_explanation(row),
            "over the time of sequential\n"
            "95% interval: 1.90x to 2.20x");
}

}  // namespace
}  // namespace viewer::trial_figures_test

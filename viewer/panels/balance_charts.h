#pragma once

#include "viewer/model/balance_table.h"
#include "viewer/window/plot.h"

/// How even loads were over the iterations of a run, and at one of them: parts of the panel of loads.
namespace viewer {

/// What is looked at, by number.
struct LoadFocus {
  int iteration = 0;
  int layer = 0;
};

/// Tokens of the fullest expert, and of the fullest rank, over the mean.
void draw_imbalance_chart(const Fonts& fonts, const BalanceTable& table, LoadFocus focus,
                          Rect area);

/// How alike the experts' tokens were to those of the iteration before.
void draw_locality_chart(const Fonts& fonts, const BalanceTable& table, LoadFocus focus, Rect area);

/// A row per layer; returns the layer in focus, or the one that was clicked.
int draw_balance_rows(const Fonts& fonts, const BalanceTable& table, LoadFocus focus, Rect area);

}  // namespace viewer

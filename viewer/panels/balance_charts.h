#pragma once

#include "viewer/model/balance_table.h"
#include "viewer/window/plot.h"

/// How even the loads were, over the iterations of a run and at one of them. Parts of the loads
/// panel.
namespace viewer {

/// What a colour stands for in all charts of loads: what experts got, what gates asked for, what
/// ranks had to compute with their own experts, and what they computed after placement.
inline constexpr Color kExpertTokens = theme::kAccent, kAskedTokens = theme::kBad,
                       kRankTokens = rgb(0xB49CEB), kPlacedTokens = theme::kGood;

/// The iteration and the layer that are shown, by their numbers.
struct LoadFocus {
  int iteration = 0;
  int layer = 0;
};

/// Tokens of the fullest expert, kept and asked for, and of the fullest rank, before and after
/// placement, over the mean.
void draw_imbalance_chart(const Fonts& fonts, const BalanceTable& table, LoadFocus focus,
                          Rect area);

/// How similar the experts' tokens were to those of the iteration before.
void draw_locality_chart(const Fonts& fonts, const BalanceTable& table, LoadFocus focus, Rect area);

/// A row per layer; returns the layer in focus, or the one that was clicked.
int draw_balance_rows(const Fonts& fonts, const BalanceTable& table, LoadFocus focus, Rect area);

}  // namespace viewer

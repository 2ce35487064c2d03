-- Version 6: balance of the tokens that ranks computed where experts were replicated.

-- As max_rank_tokens and rank_standard_deviation, which are of experts where they belong: of who computed the tokens.
-- NULL where no expert of the layer was replicated.
ALTER TABLE balance ADD COLUMN placed_max_rank_tokens INTEGER;
ALTER TABLE balance ADD COLUMN placed_rank_standard_deviation REAL;

-- max_over_mean: 1 is even, the number of experts (ranks) the worst. standard_deviation: of the tokens of the experts, in
-- tokens: Pro-Prophet's balance degree. locality: cosine of the angle between the experts' tokens and those of the iteration
-- before: 1 is the same distribution, 0 one without an expert in common. rank_...: of the tokens whose expert belongs to a rank;
-- placed_rank_...: of those that it computed, where experts were replicated. balance_ratio: of the two standard deviations,
-- before over after (Pro-Prophet's RB).
DROP VIEW balance_view;
CREATE VIEW balance_view AS
SELECT run_id AS run, iteration, layer, experts, tokens, max_tokens,
       1.0 * max_tokens * experts / nullif(tokens, 0) AS max_over_mean, dropped_tokens, unused_experts, standard_deviation,
       max_rank_tokens, max_rank_tokens / nullif(mean_rank_tokens, 0) AS rank_max_over_mean, rank_standard_deviation, locality,
       placed_max_rank_tokens, placed_max_rank_tokens / nullif(mean_rank_tokens, 0) AS placed_rank_max_over_mean,
       placed_rank_standard_deviation,
       rank_standard_deviation / nullif(placed_rank_standard_deviation, 0) AS balance_ratio
FROM balance;

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "moe/model/model.h"
#include "moe/train/data.h"

namespace moe {

/// The tokens of `--prompt`: the bytes of a text, or the numbers in it where the corpus consists of
/// token files. Without a prompt the end of a line, or token 0. Throws InputError for a
/// token that the model does not have.
std::vector<std::int32_t> prompt_tokens(const std::optional<std::string>& prompt,
                                        const Corpus& corpus, const Model& model);

/// What stands between a prompt and the text that follows: a space between numbers of tokens.
std::string between(const Corpus& corpus);

/// What the tokens say: bytes where the corpus is text, else their numbers.
std::string said_by(const std::vector<std::int32_t>& tokens, const Corpus& corpus);

}  // namespace moe

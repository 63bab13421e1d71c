// The normal forms of Unicode (UAX #15): letters and marks joined or apart.
#pragma once

#include "nn/text/aligned_text.h"

namespace dynet_like::nn::text {

/// NFC and NFD, and NFKC and NFKD, which also replace variants such as "ﬁ" by plain characters.
enum class UnicodeForm { nfc, nfd, nfkc, nfkd };

void bring_into(UnicodeForm form, AlignedText& aligned);

}  // namespace dynet_like::nn::text

// SPDX-License-Identifier: Apache-2.0
//
// Searches with the shared tree, for ThreadSanitizer.

#include "../../host/jackdaw/search/native/dnn_tree.cpp"

#include <cstdio>

int main() {
  for (int threads : {2, 4, 16}) {
    Settings settings{};
    settings.size = 6;
    settings.win = 4;
    settings.scheme = kShared;
    settings.workers = threads;
    settings.batch = threads / 2;
    settings.evaluator = kTable;
    settings.streams = 2;
    settings.c = 5;
    settings.virtual_loss = 1;
    settings.timeout_s = 60;
    Search search(settings);
    for (int move = 0; move < 10; move++) {
      if (search.start(400, nullptr, 0) != kOk) return 1;
      while (search.wait(1) == kRunning) {
      }
      if (search.wait(0) != kOk || search.tree().check() != 0) return 1;
      int32_t visits[36] = {};
      double values[36];
      float priors[36];
      search.tree().root(visits, values, priors);
      if (search.advance(static_cast<int>(std::max_element(visits, visits + 36) - visits)) != kOk)
        return 1;
    }
    std::printf("%d threads: ok\n", threads);
  }
  return 0;
}

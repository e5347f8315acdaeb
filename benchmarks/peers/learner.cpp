// SPDX-License-Identifier: Apache-2.0
//
// A plain learner in C++: gradient steps of DQN and DDPG on multilayer perceptrons with Adam, one
// thread, float32. Batches are matrices; every inner loop runs over neighbours in memory.
//
//   learner dqn  BATCH 4 64 64 2
//   learner ddpg BATCH 3 64 64 1        (the actor; the critic has the same hidden layers)
//
// Writes {"ns_per_step": ..., "loss": ...}. The loss of the last step tells that it learns.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using Matrix = std::vector<float>;   // [rows][columns]
using Sizes = std::vector<int>;

constexpr float DISCOUNT = 0.5f;     // a batch that is always the same would diverge with more

struct Layer {
  int in, out;
  Matrix w, b, gw, gb, mw, mb, vw, vb;   // w [in][out]
  Layer(int i, int o, std::mt19937& rng) : in(i), out(o) {
    std::uniform_real_distribution<float> draw(-1.0f / std::sqrt(float(i)), 1.0f / std::sqrt(float(i)));
    for (Matrix* m : {&w, &gw, &mw, &vw}) m->assign(size_t(i) * o, 0.0f);
    for (Matrix* m : {&b, &gb, &mb, &vb}) m->assign(o, 0.0f);
    for (float& x : w) x = draw(rng);
    for (float& x : b) x = draw(rng);
  }
};

struct Network {
  std::vector<Layer> layers;
  bool tangent;
  std::vector<Matrix> h;   // activations of the last forward pass, input first
  Network(const Sizes& sizes, bool tanh_output, std::mt19937& rng) : tangent(tanh_output) {
    for (size_t k = 0; k + 1 < sizes.size(); k++) layers.emplace_back(sizes[k], sizes[k + 1], rng);
  }
  const Matrix& forward(const Matrix& x, int batch) {
    h.assign(1, x);
    for (size_t k = 0; k < layers.size(); k++) {
      const Layer& l = layers[k];
      Matrix y(size_t(batch) * l.out);
      for (int s = 0; s < batch; s++) {
        float* row = &y[size_t(s) * l.out];
        std::memcpy(row, l.b.data(), sizeof(float) * l.out);
        for (int i = 0; i < l.in; i++) {
          const float a = h[k][size_t(s) * l.in + i];
          const float* w = &l.w[size_t(i) * l.out];
          for (int o = 0; o < l.out; o++) row[o] += a * w[o];
        }
        if (k + 1 < layers.size()) for (int o = 0; o < l.out; o++) row[o] = row[o] > 0 ? row[o] : 0;
        else if (tangent) for (int o = 0; o < l.out; o++) row[o] = std::tanh(row[o]);
      }
      h.push_back(std::move(y));
    }
    return h.back();
  }
  // Gradients of the layers (if wanted) and, returned, of the input (if wanted).
  Matrix backward(Matrix d, int batch, bool weights, bool input) {
    if (tangent) for (size_t i = 0; i < d.size(); i++) d[i] *= 1 - h.back()[i] * h.back()[i];
    for (int k = int(layers.size()) - 1; k >= 0; k--) {
      Layer& l = layers[k];
      if (weights) {
        std::fill(l.gw.begin(), l.gw.end(), 0.0f);
        std::fill(l.gb.begin(), l.gb.end(), 0.0f);
        for (int s = 0; s < batch; s++) {
          const float* row = &d[size_t(s) * l.out];
          for (int i = 0; i < l.in; i++) {
            const float a = h[k][size_t(s) * l.in + i];
            float* g = &l.gw[size_t(i) * l.out];
            for (int o = 0; o < l.out; o++) g[o] += a * row[o];
          }
          for (int o = 0; o < l.out; o++) l.gb[o] += row[o];
        }
      }
      if (k == 0 && !input) break;
      Matrix below(size_t(batch) * l.in);
      for (int s = 0; s < batch; s++) {
        const float* row = &d[size_t(s) * l.out];
        for (int i = 0; i < l.in; i++) {
          const float* w = &l.w[size_t(i) * l.out];
          float sum = 0;
          for (int o = 0; o < l.out; o++) sum += row[o] * w[o];
          below[size_t(s) * l.in + i] = k == 0 || h[k][size_t(s) * l.in + i] > 0 ? sum : 0;
        }
      }
      d = std::move(below);
    }
    return d;
  }
  void adam(float rate, int t) {
    const float c1 = 1 - std::pow(0.9f, t), c2 = 1 - std::pow(0.999f, t);
    auto step = [&](Matrix& w, Matrix& g, Matrix& m, Matrix& v) {
      for (size_t i = 0; i < w.size(); i++) {
        m[i] = 0.9f * m[i] + 0.1f * g[i];
        v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
        w[i] -= rate * (m[i] / c1) / (std::sqrt(v[i] / c2) + 1e-8f);
      }
    };
    for (Layer& l : layers) {
      step(l.w, l.gw, l.mw, l.vw);
      step(l.b, l.gb, l.mb, l.vb);
    }
  }
  void follow(const Network& other, float tau) {
    for (size_t k = 0; k < layers.size(); k++) {
      for (size_t i = 0; i < layers[k].w.size(); i++)
        layers[k].w[i] += tau * (other.layers[k].w[i] - layers[k].w[i]);
      for (size_t i = 0; i < layers[k].b.size(); i++)
        layers[k].b[i] += tau * (other.layers[k].b[i] - layers[k].b[i]);
    }
  }
};

static Matrix joined(const Matrix& a, int wa, const Matrix& b, int wb, int batch) {
  Matrix out(size_t(batch) * (wa + wb));
  for (int s = 0; s < batch; s++) {
    std::memcpy(&out[size_t(s) * (wa + wb)], &a[size_t(s) * wa], sizeof(float) * wa);
    std::memcpy(&out[size_t(s) * (wa + wb) + wa], &b[size_t(s) * wb], sizeof(float) * wb);
  }
  return out;
}

int main(int argc, char** argv) {
  if (argc < 5) return std::fprintf(stderr, "usage: learner dqn|ddpg BATCH SIZES...\n"), 2;
  const bool dqn = std::string(argv[1]) == "dqn";
  const int batch = std::atoi(argv[2]);
  Sizes sizes;
  for (int k = 3; k < argc; k++) sizes.push_back(std::atoi(argv[k]));
  const int states = sizes.front(), actions = sizes.back();
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  auto random = [&](size_t n) { Matrix m(n); for (float& x : m) x = normal(rng); return m; };
  Sizes value = sizes;
  if (!dqn) value.front() = states + actions, value.back() = 1;
  Network online(value, false, rng), target = online, actor(sizes, true, rng), actor_target = actor;
  const Matrix s = random(size_t(batch) * states), next = random(size_t(batch) * states);
  const Matrix reward = random(batch), a = random(size_t(batch) * actions);
  std::vector<int> chosen(batch);
  for (int& c : chosen) c = int(rng() % unsigned(actions));
  float loss = 0;
  int t = 0;
  auto step = [&] {
    t++;
    loss = 0;
    if (dqn) {
      const Matrix q_next = target.forward(next, batch);
      const Matrix& q = online.forward(s, batch);
      Matrix d(q.size(), 0.0f);
      for (int b = 0; b < batch; b++) {
        float best = q_next[size_t(b) * actions];
        for (int k = 1; k < actions; k++) best = std::fmax(best, q_next[size_t(b) * actions + k]);
        const float delta = q[size_t(b) * actions + chosen[b]] - (reward[b] + DISCOUNT * best);
        d[size_t(b) * actions + chosen[b]] = std::fmin(1.0f, std::fmax(-1.0f, delta)) / batch;
        loss += delta * delta / batch;
      }
      online.backward(d, batch, true, false);
      online.adam(1e-3f, t);
      if (t % 5 == 0) target.follow(online, 1);
      return;
    }
    const Matrix a_next = actor_target.forward(next, batch);
    const Matrix q_next = target.forward(joined(next, states, a_next, actions, batch), batch);
    const Matrix& q = online.forward(joined(s, states, a, actions, batch), batch);
    Matrix d(batch);
    for (int b = 0; b < batch; b++) {
      const float delta = q[b] - (reward[b] + DISCOUNT * q_next[b]);
      d[b] = delta / batch;
      loss += delta * delta / batch;
    }
    online.backward(d, batch, true, false);
    online.adam(1e-3f, t);
    const Matrix mu = actor.forward(s, batch);
    online.forward(joined(s, states, mu, actions, batch), batch);
    const Matrix g = online.backward(Matrix(batch, -1.0f / batch), batch, false, true);
    Matrix ga(size_t(batch) * actions);
    for (int b = 0; b < batch; b++)
      std::memcpy(&ga[size_t(b) * actions], &g[size_t(b) * (states + actions) + states],
                  sizeof(float) * actions);
    actor.backward(ga, batch, true, false);
    actor.adam(1e-3f, t);
    target.follow(online, 0.005f);
    actor_target.follow(actor, 0.005f);
  };
  using Clock = std::chrono::steady_clock;
  step();
  const float first = loss;
  double best = 1e300;
  for (int round = 0; round < 5; round++) {
    int steps = 0;
    const auto began = Clock::now();
    double ns = 0;
    do {
      step();
      steps++;
      ns = std::chrono::duration<double, std::nano>(Clock::now() - began).count();
    } while (ns < 1e8);
    best = std::min(best, ns / steps);
  }
  if (!(loss < first)) return std::fprintf(stderr, "it does not learn: %g, %g\n", first, loss), 1;
  std::printf("{\"ns_per_step\": %.1f, \"loss\": %g}\n", best, loss);
}

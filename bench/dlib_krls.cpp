// A co-process around dlib's `krls`, so that a harness can interleave its timed steps with those of others.
//
// Standard input, binary: int64 features, points, visits, tests; double gamma, tolerance; then row-major doubles
// points x features, point targets, visits x features, visit targets, tests x features. dlib learns the points first
// and answers one JSON line. After that, one JSON line for each text line "run N" (N timed train() calls on the visits,
// cyclically) or "predict" (the predictions at the tests), until the input ends.
//
// FEATURES fixes the dimension at compile time, as dlib's own examples do: its kernels are a little faster so.
// PLAIN_LOOPS switches BLAS off where the installed dlib/config.h switched it on.

#include <dlib/assert.h>
#include <dlib/test_for_odr_violations.h>
#ifdef PLAIN_LOOPS
// The two headers above are all that include dlib/config.h, and they are guarded: what is undefined here stays so.
#undef DLIB_USE_BLAS
#undef DLIB_USE_LAPACK
#else
#ifndef DLIB_USE_BLAS
#define DLIB_USE_BLAS
#endif
#endif
#include <dlib/svm/krls.h>
#include <dlib/svm/kernel.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef FEATURES
#define FEATURES 0  // 0: the dimension is known at run time only
#endif

using Sample = dlib::matrix<double, FEATURES, 1>;
using Kernel = dlib::radial_basis_kernel<Sample>;

template <typename T>
std::vector<T> read_values(std::size_t count) {
    std::vector<T> values(count);
    const auto bytes = static_cast<std::streamsize>(count * sizeof(T));
    std::cin.read(reinterpret_cast<char*>(values.data()), bytes);
    if (std::cin.gcount() != bytes) throw std::runtime_error("the input ended before the samples did");
    return values;
}

std::vector<Sample> read_samples(std::int64_t count, std::int64_t features) {
    const std::vector<double> values = read_values<double>(static_cast<std::size_t>(count * features));
    std::vector<Sample> samples(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
        samples[i].set_size(features, 1);
        for (std::int64_t j = 0; j < features; ++j) samples[i](j) = values[i * features + j];
    }
    return samples;
}

int serve() {
    using Clock = std::chrono::steady_clock;
    const auto counts = read_values<std::int64_t>(4);
    const auto parameters = read_values<double>(2);
    const std::int64_t features = counts[0];
    if (FEATURES != 0 && features != FEATURES) throw std::runtime_error("compiled for another number of features");
    const auto points = read_samples(counts[1], features);
    const auto point_targets = read_values<double>(counts[1]);
    const auto visits = read_samples(counts[2], features);
    const auto visit_targets = read_values<double>(counts[2]);
    const auto tests = read_samples(counts[3], features);

    dlib::krls<Kernel> model(Kernel(parameters[0]), parameters[1]);
    for (std::size_t i = 0; i < points.size(); ++i) model.train(points[i], point_targets[i]);
    std::printf("{\"size\": %lu}\n", model.dictionary_size());
    std::fflush(stdout);

    std::size_t next = 0;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string command;
        words >> command;
        if (command == "run") {
            long steps = 0;
            words >> steps;
            if (steps > 0 && visits.empty()) throw std::runtime_error("no visits to run");
            const auto start = Clock::now();
            for (long i = 0; i < steps; ++i) {
                model.train(visits[next], visit_targets[next]);
                if (++next == visits.size()) next = 0;
            }
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            std::printf("{\"seconds\": %.9g, \"size\": %lu}\n", seconds, model.dictionary_size());
        } else if (command == "predict") {
            std::printf("{\"predictions\": [");
            for (std::size_t i = 0; i < tests.size(); ++i) std::printf(i ? ", %.17g" : "%.17g", model(tests[i]));
            std::printf("]}\n");
        } else {
            throw std::runtime_error("unknown command: " + line);
        }
        std::fflush(stdout);
    }
    return 0;
}

int main() {
    try {
        return serve();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dlib_krls: %s\n", error.what());
        return 1;
    }
}

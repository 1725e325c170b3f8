// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Times exported C functions beside Pinocchio's own, both compiled for this processor.
//
// Usage: native_pinocchio MODEL FUNCTIONS.so TURNS SECONDS. MODEL is a file of words: gravity; for each
// joint its parent, kind, axis, placement (rows of a 4x4 matrix), mass, centre and inertia; the frame;
// the state in our coordinates, then in Pinocchio's. Prints for each case its name and the seconds of a
// call of ours and of Pinocchio's, then both results.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using namespace pinocchio;

static std::ifstream file;

static double number()
{
    double x;
    if (!(file >> x)) throw std::runtime_error("a number is missing");
    return x;
}

static Eigen::VectorXd numbers(int count)
{
    Eigen::VectorXd x(count);
    for (int i = 0; i < count; ++i) x[i] = number();
    return x;
}

static SE3 placement()
{
    const Eigen::VectorXd x = numbers(16);
    Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> X(x.data());
    return SE3(X.topLeftCorner<3, 3>(), X.topRightCorner<3, 1>());
}

static JointModel joint(const std::string &kind, const Eigen::Vector3d &axis)
{
    if (kind == "JointModelRX") return JointModelRX();
    if (kind == "JointModelRY") return JointModelRY();
    if (kind == "JointModelRZ") return JointModelRZ();
    if (kind == "JointModelPX") return JointModelPX();
    if (kind == "JointModelPY") return JointModelPY();
    if (kind == "JointModelPZ") return JointModelPZ();
    if (kind == "JointModelRUBX") return JointModelRUBX();
    if (kind == "JointModelRUBY") return JointModelRUBY();
    if (kind == "JointModelRUBZ") return JointModelRUBZ();
    if (kind == "JointModelFreeFlyer") return JointModelFreeFlyer();
    if (kind == "JointModelRevoluteUnaligned") return JointModelRevoluteUnaligned(axis);
    if (kind == "JointModelPrismaticUnaligned") return JointModelPrismaticUnaligned(axis);
    throw std::runtime_error("no such joint: " + kind);
}

using Call = std::function<void()>;

static double slice(const Call &call, long loops)
{
    const auto start = std::chrono::steady_clock::now();
    for (long i = 0; i < loops; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / loops;
}

static void timed(const char *name, const Call &ours, const Call &theirs, int turns, double seconds)
{
    const Call calls[2] = {ours, theirs};
    std::vector<double> times[2];
    long loops[2];
    for (int k = 0; k < 2; ++k) {
        double once = slice(calls[k], 100);
        for (int i = 0; i < 5; ++i) once = std::min(once, slice(calls[k], 100));
        loops[k] = std::max(1L, static_cast<long>(seconds / once));
    }
    for (int turn = 0; turn < turns; ++turn)
        for (int k = 0; k < 2; ++k) {
            const int which = turn % 2 ? 1 - k : k;
            times[which].push_back(slice(calls[which], loops[which]));
        }
    for (auto &t : times) std::sort(t.begin(), t.end());
    std::printf("%s %.9g %.9g\n", name, times[0][turns / 2], times[1][turns / 2]);
}

template <class Values> static void print(const Values &values)
{
    for (long i = 0; i < values.size(); ++i) std::printf("%.17g ", values.data()[i]);
    std::printf("\n");
}

int main(int, char **arguments)
{
    file.open(arguments[1]);
    Model model;
    model.gravity.linear() = numbers(3);
    const int joints = static_cast<int>(number());
    for (int i = 1; i <= joints; ++i) {
        std::string kind;
        const int parent = static_cast<int>(number());
        file >> kind;
        const Eigen::Vector3d axis = numbers(3);
        const SE3 X = placement();
        const double mass = number();
        const Eigen::Vector3d center = numbers(3);
        const Eigen::VectorXd inertia = numbers(9);
        model.addJoint(parent, joint(kind, axis), X, "joint " + std::to_string(i));
        const Eigen::Matrix3d I = Eigen::Map<const Eigen::Matrix3d>(inertia.data());
        model.appendBodyToJoint(i, Inertia(mass, center, I), SE3::Identity());
    }
    const int carrier = static_cast<int>(number());
    const FrameIndex frame = model.addFrame(Frame("tool", carrier, placement(), OP_FRAME));
    Data data(model);
    const int nq = static_cast<int>(number()), nv = static_cast<int>(number());
    const Eigen::VectorXd q = numbers(nq), v = numbers(nv), a = numbers(nv);
    const Eigen::VectorXd Q = numbers(model.nq), V = numbers(model.nv), A = numbers(model.nv);

    void *library = dlopen(arguments[2], RTLD_NOW);
    if (library == nullptr) throw std::runtime_error(dlerror());
    using OfState = void (*)(const double *, const double *, const double *, double *);
    using OfPosition = void (*)(const double *, double *);
    const auto of_state = [&](const char *name) {
        return reinterpret_cast<OfState>(dlsym(library, name));
    };
    const auto of_position = [&](const char *name) {
        return reinterpret_cast<OfPosition>(dlsym(library, name));
    };
    const OfState rnea_ours = of_state("ours_inverse_dynamics");
    const OfState aba_ours = of_state("ours_forward_dynamics");
    const OfPosition crba_ours = of_position("ours_mass_matrix");
    const OfPosition jacobian_ours = of_position("ours_jacobian");

    const int turns = std::stoi(arguments[3]);
    const double seconds = std::stod(arguments[4]);
    Eigen::VectorXd tau(nv), ddq(nv), M(nv * nv), rows(6 * nv);
    Data::Matrix6x J = Data::Matrix6x::Zero(6, model.nv);
    timed("RNEA", [&] { rnea_ours(q.data(), v.data(), a.data(), tau.data()); },
          [&] { rnea(model, data, Q, V, A); }, turns, seconds);
    print(tau);
    print(data.tau);
    timed("CRBA", [&] { crba_ours(q.data(), M.data()); }, [&] { crba(model, data, Q); }, turns, seconds);
    print(M);
    print(data.M);
    timed("ABA", [&] { aba_ours(q.data(), v.data(), a.data(), ddq.data()); },
          [&] { aba(model, data, Q, V, A); }, turns, seconds);
    print(ddq);
    print(data.ddq);
    timed("Jacobian", [&] { jacobian_ours(q.data(), rows.data()); },
          [&] { computeFrameJacobian(model, data, Q, frame, LOCAL_WORLD_ALIGNED, J); }, turns, seconds);
    print(rows);
    print(J);
    return 0;
}

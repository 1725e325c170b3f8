# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a sample of joint motion can be true after the previous ones, and a prediction if not.

Each joint is checked on its own. A position is *fresh* if it differs from the previous one, and
*stale* otherwise; h is the time since the last fresh one, and the slope of a fresh position is its
change divided by h.

- jump: an impact may drive a joint far beyond its velocity limit, so half of the motion at one of
  two velocities, and all of the expected motion, is accepted too; of the rest, |Delta q| may be at
  most 2 v_max h + ``JUMP``, with the interval or the usual period as h, or, for a frozen joint,
  the time for which it was stale. Where velocities are
  differences of positions, this accepts half of a jump. After a jump the joint is predicted until
  it comes back to its prediction; what stays elsewhere is never believed.
- contradiction: a filter makes velocities late, but never early, so a velocity must lie between the
  slopes of the last ``LATE`` seconds, with a tolerance. Outside of that for ``PERIODS`` fresh
  positions in a row, by more than ``APART`` and the usual noise, it contradicts the positions. A
  velocity that does not change at all must have been that of the joint ``DELAY`` before, so it
  may differ from the present slope for as long, and swings of the joint do not excuse it.
- frozen: a position has been stale for ``PERIODS`` of its usual periods, although the joint has
  moved by more than a few steps of its encoder: by its velocity, or, if the velocity does not
  change either, by its motion before and by the change of its torque since. An arm that presses
  against an obstacle need not move; there, an effort that changes or the resolution of the encoder
  shows that the positions are true.

The usual period and the step of the encoder are learned while a joint moves: drivers repeat
positions, and coarse encoders repeat them in slow motion. Constants in rad hold in m for sliding
joints, whatever their strokes: a joint with a lever of 1 m moves the tool as far.

The motion of joints that are stale or have jumped is predicted, so that a controller can brake
them: their momentum changes by the change of their torque from its mean before, beside gravity's,
and, if stale, as it did before. The momenta and the velocities of the other joints give their
velocities. A joint that contradicts itself has the velocity of its slopes. Until a joint counts as
frozen, its predicted motion adds to the torques only what its encoder would not have shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.configuration import difference, integrate
from dynamics_ros.algorithms.linear_algebra.solve import dot, factorize, solve_factorized
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.momentum import momentum_observer_terms
from dynamics_ros.algorithms.quantity import Input, PerVelocity, Q, V, quantity
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import clipped, exp, larger, magnitude, smaller, where_less

Values = Sequence[Scalar]

CHECKS = ('jump', 'contradiction', 'frozen')
"""Rows of the excess."""

JUMP = 0.01
"""Position error allowed in addition to what the velocity limits permit [rad or m]."""

MAX_SINCE = 0.02
"""Longest time between two fresh positions of a joint that moves fast [s]."""

RETURN = 0.25
"""Share of the way back from a jump that a joint must cover at once: a prediction that drifts to a
wrong position does not make it true."""

MAX_STEP = 0.05
"""Longest sample interval over which motion is compared [s]."""

PERIODS, LEAST_SAMPLES = 3.9, 3.5
"""Usual periods, and samples, for which a contradiction or a stale position must last."""

SLOW = 0.02
"""Speed that noise and offsets of velocities may pretend [rad/s or m/s]."""

FIRST_PERIOD, MAX_PERIOD, FORGET = 5e-3, 0.1, 0.3
"""Period before the first motion, the longest one that is learned [s], and the share by which a
shorter one replaces it."""

FIRST_STEP, STEPS, STEP_TIME = 4e-4, 4.0, 1.0
"""Encoder step before the first motion [rad or m], steps that are no motion, and the time constant
with which a larger step replaces the learned one [s]."""

MOVED = 1e-4
"""Motion beyond encoder steps from which a joint has moved [rad or m]."""

LATE, TOLERANCE = 0.1, 0.5
"""Time constant of the range of slopes [s], and its tolerance as a share of the speeds.

Velocities in wrong units exceed the tolerance.
"""

DELAY = 0.012
"""Time by which all velocities may be late [s]."""

APART, NOISES, NOISE_TIME = 3e-4, 6.0, 1.0
"""Integrated difference of a contradiction beyond some encoder steps [rad or m]: absolute and in
mean differences within one period; time constant of the mean [s]."""

DECELERATION = 10.0
"""Deceleration with which friction stops a joint within one period [rad/s^2 or m/s^2]."""

SMOOTHING, RESOLVED = 0.01, 0.05
"""Time constant of the slopes and torques from which a motion is predicted [s]; the time in which
a joint of this speed moves by a step of its encoder is added [rad/s or m/s]."""

FORGETTING = 0.1
"""Time constant with which the motion that torques would have caused fades while they change by no
more than friction, and their speed always [s]."""

MAX_AHEAD, MAX_FROZEN = 0.1, 1.0
"""Largest predicted motion of a joint that does not count as frozen, and of one that does [rad or
m]; predicted velocities are at most twice the velocity limits."""

ROTOR = 0.2
"""Inertia of rotors that the model may lack when torques should have moved a joint [kg m^2, kg]."""

SURELY = 7.0
"""Multiple of the least motion that the model without such rotors must predict: a light joint moves
far earlier without them."""

STOPPING = 2.5e-3
"""Time in which the stiffest obstacle stops a joint [s]: it moves by its speed times this until it
stands, and as it swings back."""

OBSTACLE = 6e4
"""Stiffness of an obstacle and of the drive about a joint, as a multiple of its friction [1/rad or
1/m]: a change of torque over it moves a joint that presses against something. With friction of
0.5 % of the largest torque, that torque moves it by 3 mrad, as gears do."""

LATCH = 0.25
"""Time for which the velocity of a joint is not used after a contradiction [s]."""

ROWS = (
    *('stale_time', 'stale_samples', 'frozen', 'period', 'step'),
    *('lowest', 'highest', 'slope', 'smoother', 'apart', 'apart_time', 'noise', 'latch'),
    'constant_time',
    *('same_velocity_time', 'same_effort_time', 'moved_by_velocity', 'way_by_velocity'),
    *('moved_by_torque', 'speed_by_torque', 'torque', 'impulse'),
    *('predicted_move', 'offset', 'speed', 'momentum', 'force'),
)
"""Values of each joint in the memory, after the previous q, v and effort."""

Joint = dict[str, Scalar]


def memory_size(model: Model) -> int:
    """Number of values in the memory; all are zero before the first sample."""
    return model.nq + (2 + len(ROWS)) * model.nv


@quantity(
    'how far a sample of joint motion exceeds what is physically possible',
    {
        'excess': f'positive if impossible; rows: {", ".join(CHECKS)}',
        'predicted_q': 'as q, predicted for joints whose sample is stale or impossible',
        'predicted_v': 'as v, predicted likewise',
        'next_memory': 'for the next sample',
    },
    internal=True,
)
def motion_check(
    model: Model,
    q: Q,
    v: V,
    effort: PerVelocity,
    tau: PerVelocity,
    friction: PerVelocity,
    velocity_limits: PerVelocity,
    memory: Annotated[Values, Input(memory_size)],
    interval: Scalar,
) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar], list[Scalar]]:
    """Excess of a sample over the bounds above, the state to brake with, and the next memory.

    Args:
        model: the robot.
        q, v, effort: (nq), (nv), (nv) of the sample; efforts are constant if not measured.
        tau: (nv) commanded since the sample before.
        friction: (nv) change of torque that need not move a joint; large if it is not commanded.
        velocity_limits: (nv) [rad/s or m/s].
        memory: of the sample before.
        interval: time since the sample before [s].

    Returns:
        (3, nv) excess over each bound, rows as in ``CHECKS``, positive where a sample is
        impossible; q (nq) and v (nv), predicted for joints whose sample is stale or impossible;
        the memory.
    """
    n, m = model.nq, model.nv
    columns = [memory[n + k * m : n + (k + 1) * m] for k in range(2 + len(ROWS))]
    joints = [dict(zip(ROWS, x, strict=True)) for x in zip(*columns[2:], strict=True)]
    # The usual period is positive from the first sample on.
    started = where_less(0.0, sum(joint['period'] for joint in joints), 1.0, 0.0)
    compared = started * where_less(interval, MAX_STEP, 1.0, 0.0)
    q0 = [_if(started, x, y) for x, y in zip(memory[:n], q, strict=True)]
    v0 = [_if(started, x, y) for x, y in zip(columns[0], v, strict=True)]
    moves = difference(model, q0, q)
    motions = zip(joints, moves, v0, v, velocity_limits, strict=True)
    jumps = [_jump(joint, x, y, z, most, interval) for joint, x, y, z, most in motions]
    jumped = [started * where_less(0.0, x, 1.0, 0.0) for x in jumps]
    lost = [1.0 - _equal(joint['offset'], 0.0) for joint in joints]
    back = [x * (1.0 - y) for x, y in zip(lost, jumped, strict=True)]
    offsets = [
        x * (joint['offset'] - move) for x, move, joint in zip(jumped, moves, joints, strict=True)
    ]
    stale = [
        larger(compared * _equal(move, 0.0) * (1.0 - x), y)
        for move, x, y in zip(moves, back, jumped, strict=True)
    ]
    # As a joint comes back, a velocity that is a difference of positions is wrong once more.
    means = [
        (move - joint['offset']) / larger(joint['stale_time'] + interval, 1e-9)
        for move, joint in zip(moves, joints, strict=True)
    ]
    v = [
        _if(x, _between(y, joint['speed'], mean), y)
        for x, y, joint, mean in zip(back, v, joints, means, strict=True)
    ]
    likely = [_likely(joint) for joint in joints]
    ahead = [x * move + y for x, (move, _), y in zip(stale, likely, offsets, strict=True)]
    q1 = integrate(model, q, ahead)
    v1 = [_if(x, speed, y) for x, (_, speed), y in zip(stale, likely, v, strict=True)]
    M = mass_matrix(model, q1)
    _, rates = momentum_observer_terms(model, q1, v1)
    torques = [x + y for x, y in zip(tau, rates, strict=True)]
    pushes = [x - joint['torque'] for x, joint in zip(torques, joints, strict=True)]
    beyond = [_beyond(x, y) for x, y in zip(pushes, friction, strict=True)]
    geared = [[x + ROTOR * (i == j) for j, x in enumerate(row)] for i, row in enumerate(M)]
    driven = solve_factorized(factorize(geared), beyond)

    coarsest: Scalar = 0.0
    for joint in joints:
        coarsest = larger(coarsest, joint['step'])
    coarsest = _if_positive(coarsest, FIRST_STEP)

    excess: list[list[Scalar]] = []
    following: list[Joint] = []
    speeds: list[Scalar] = []
    for k, joint in enumerate(joints):
        joint['impulse'] += interval * pushes[k]
        same = {
            f'same_{name}_time': _equal(x, y) * (joint[f'same_{name}_time'] + interval)
            for name, x, y in (('velocity', v0[k], v[k]), ('effort', columns[1][k], effort[k]))
        }
        moved, contradiction = _fresh(joint, moves[k], (v0[k], v[k]), velocity_limits[k], interval)
        bent = magnitude(beyond[k]) / (OBSTACLE * _if_positive(friction[k], 1.0))
        pushed = bent, driven[k], M[k][k]
        rests, frozen = _stale(joint | same, v[k], *pushed, coarsest, interval)
        first = _first(joint, v[k], _if(back[k], joint['torque'], torques[k]))
        goes_on = compared * (1.0 - back[k])
        state = {
            name: _if(stale[k], rests[name], _if(goes_on, moved[name], first[name]))
            for name in ROWS
        }
        latch = where_less(0.0, contradiction, (1.0 - stale[k]) * goes_on * LATCH, 0.0)
        state |= same | {
            'latch': larger(larger(joint['latch'] - interval, 0.0), latch),
            'frozen': larger(state['frozen'], jumped[k]),
            'offset': offsets[k],
        }
        excess.append(
            [
                _if(jumped[k], jumps[k], _if(back[k], JUMP, -1.0)),
                where_less(0.0, state['latch'], state['latch'], -1.0),
                _if(stale[k] * (1.0 - jumped[k]), frozen, -1.0),
            ]
        )
        straight = 2.0 * state['slope'] - state['smoother']
        speeds.append(where_less(0.0, state['latch'], straight, v[k]))
        following.append(state)

    momenta = [
        compared * (joint['momentum'] + interval * (push + joint['force']))
        for joint, push in zip(joints, pushes, strict=True)
    ]
    speeds = _speeds(M, stale, momenta, speeds)
    driving: Scalar = 0.0
    for x, push in zip(stale, beyond, strict=True):
        driving = larger(driving, x * magnitude(push))
    fading = where_less(0.0, driving, 1.0, exp(-interval / FORGETTING))
    rates = [(state['slope'] - state['smoother']) / SMOOTHING for state in following]
    for k, (joint, state) in enumerate(zip(joints, following, strict=True)):
        fade = larger(fading, state['frozen'])
        fastest, farthest = 2.0 * velocity_limits[k], _if(state['frozen'], MAX_FROZEN, MAX_AHEAD)
        speeds[k] = _if(stale[k], clipped(fade * speeds[k], -fastest, fastest), speeds[k])
        move = fade * (joint['predicted_move'] + interval * speeds[k])
        move = clipped(move, -farthest, farthest)
        state['predicted_move'] = _if(stale[k], move, state['predicted_move'])
        force = _if(stale[k], fade * joint['force'], compared * dot(M[k], rates))
        state['force'] = _if(larger(jumped[k], back[k]), 0.0, force)
    for row, speed, state in zip(M, speeds, following, strict=True):
        state |= {'speed': speed, 'momentum': dot(row, speeds)}
    judged = integrate(model, q, [x['predicted_move'] + x['offset'] for x in following])
    rows = [state[name] for name in ROWS for state in following]
    checks = [list(row) for row in zip(*excess, strict=True)]
    return checks, list(judged), speeds, [*q, *v, *effort, *rows]


def _speeds(M: Sequence[Values], stale: Values, momenta: Values, speeds: Values) -> list[Scalar]:
    """Velocities (nv): of stale joints by their momenta, beside the known ones of the others."""
    known = [_if(x, 0.0, y) for x, y in zip(stale, speeds, strict=True)]
    left = [
        _if(x, p - dot(row, known), y)
        for x, p, row, y in zip(stale, momenta, M, speeds, strict=True)
    ]
    matrix = [
        [stale[i] * stale[j] * x + (1.0 - stale[i] if i == j else 0.0) for j, x in enumerate(row)]
        for i, row in enumerate(M)
    ]
    return solve_factorized(factorize(matrix), left)


def _likely(joint: Joint) -> tuple[Scalar, Scalar]:
    """Move and speed of a stale joint for the torques of the arm.

    A joint that does not count as frozen has hardly moved: its encoder would have shown it.
    """
    near = MOVED + STEPS * _if_positive(joint['step'], FIRST_STEP)
    fast = larger(magnitude(joint['slope']), near / larger(joint['stale_time'], 1e-9))
    move, speed = joint['predicted_move'], joint['speed']
    frozen = joint['frozen']
    return (
        _if(frozen, move, clipped(move, -near, near)),
        _if(frozen, speed, clipped(speed, -fast, fast)),
    )


def _jump(
    joint: Joint, move: Scalar, before: Scalar, v: Scalar, fastest: Scalar, interval: Scalar
) -> Scalar:
    """Excess of a move over what is possible; after a jump, over what leads back to the prediction.

    A move and the return from it have the same bound, however long the joint has stood before:
    otherwise a wrong sample would pass, and the true ones after it be taken for a jump. A joint
    that counts as frozen may have moved all the time.
    """
    offset = joint['offset']
    stood = _equal(offset, 0.0) * joint['frozen'] * joint['stale_time']
    since = larger(smaller(joint['period'], MAX_SINCE), stood + interval)
    most = 2.0 * fastest * since + JUMP
    expected = offset + joint['predicted_move'] + interval * joint['speed']
    low = smaller(smaller(0.5 * interval * smaller(before, v), expected), 0.0)
    high = larger(larger(0.5 * interval * larger(before, v), expected), 0.0)
    away = larger(magnitude(move - expected) - most, RETURN * magnitude(offset) - magnitude(move))
    return _if(_equal(offset, 0.0), magnitude(move - clipped(move, low, high)) - most, away)


def _first(joint: Joint, v: Scalar, torque: Scalar) -> Joint:
    """Memory of a joint at the first sample, or after a gap: what was learned is kept."""
    return dict.fromkeys(ROWS, 0.0) | {
        'period': _if_positive(joint['period'], FIRST_PERIOD),
        'step': joint['step'],
        'noise': joint['noise'],
        'slope': v,
        'smoother': v,
        'torque': torque,
    }


def _fresh(
    joint: Joint,
    moved: Scalar,
    velocities: tuple[Scalar, Scalar],
    velocity_limit: Scalar,
    interval: Scalar,
) -> tuple[Joint, Scalar]:
    """Memory of a joint after a fresh position, and the excess of its contradiction."""
    before, v = velocities
    since = joint['stale_time'] + interval
    slope = moved / larger(since, 1e-9)
    fading = exp(-since / LATE)
    share = 1.0 - exp(-since / (SMOOTHING + joint['step'] / RESOLVED))
    period, step = joint['period'], joint['step']
    learned = larger(since, period + FORGET * (since - period))
    possible = where_less(magnitude(slope), 2.0 * velocity_limit, 1.0, 0.0)
    moving = where_less(SLOW, magnitude(slope), where_less(since, MAX_PERIOD, possible, 0.0), 0.0)
    state = {
        'period': _if(moving, learned, period),
        'step': smaller(magnitude(moved), _if_positive(step * (1.0 + since / STEP_TIME), 1.0)),
        'lowest': smaller(slope, slope + fading * (joint['lowest'] - slope)),
        'highest': larger(slope, slope + fading * (joint['highest'] - slope)),
        'slope': joint['slope'] + share * (slope - joint['slope']),
        # A mean, because a step of a coarse encoder causes a torque at this very moment.
        'torque': joint['torque'] + share * joint['impulse'] / larger(since, 1e-9),
    }
    state['smoother'] = joint['smoother'] + share * (state['slope'] - joint['smoother'])
    fastest = larger(magnitude(v), larger(magnitude(state['lowest']), magnitude(state['highest'])))
    tolerance = SLOW + TOLERANCE * fastest
    outside = v - clipped(v, state['lowest'] - tolerance, state['highest'] + tolerance)
    goes_on = where_less(0.0, joint['apart'] * outside, 1.0, 0.0)
    usual = larger(state['period'], interval)
    lasted = smaller(since, usual)
    apart = goes_on * joint['apart'] + outside * lasted
    apart_time = _if(_equal(outside, 0.0), 0.0, goes_on * joint['apart_time'] + lasted)
    noise = joint['noise']
    contradiction = smaller(
        magnitude(apart) - APART - NOISES * noise * usual - STEPS * step,
        apart_time - PERIODS * usual,
    )
    noise = noise + smaller(since / NOISE_TIME, 1.0) * (magnitude(outside) - noise)
    # How long a velocity that stays the same has differed from the slope; noise passes both ways.
    slope = state['slope']
    beside = SLOW + TOLERANCE * larger(magnitude(v), magnitude(slope))
    passed = where_less(beside, magnitude(v - slope), lasted, -lasted)
    constant_time = _equal(before, v) * larger(joint['constant_time'] + passed, 0.0)
    contradiction = larger(contradiction, constant_time - larger(DELAY, PERIODS * usual))
    speed = 2.0 * state['slope'] - state['smoother']
    state |= {
        'apart': apart,
        'apart_time': apart_time,
        'constant_time': constant_time,
        'noise': noise,
        'speed_by_torque': _beyond(speed, SLOW + DECELERATION * usual),
    }
    return dict.fromkeys(ROWS, 0.0) | state, contradiction


def _stale(
    joint: Joint,
    v: Scalar,
    bent: Scalar,
    driven: Scalar,
    inertia: Scalar,
    coarsest: Scalar,
    interval: Scalar,
) -> tuple[Joint, Scalar]:
    """Memory of a joint after a stale position, and the excess of a frozen one.

    A joint that has not moved yet is taken for one with the coarsest encoder of the others.
    """
    by_velocity = _beyond(v, SLOW) * interval
    speed = joint['speed_by_torque'] + driven * interval
    state = joint | {
        'stale_time': joint['stale_time'] + interval,
        'stale_samples': joint['stale_samples'] + 1.0,
        'moved_by_velocity': joint['moved_by_velocity'] + by_velocity,
        'way_by_velocity': joint['way_by_velocity'] + magnitude(by_velocity),
        'moved_by_torque': joint['moved_by_torque'] + speed * interval,
        'speed_by_torque': speed,
    }
    usual, step = larger(joint['period'], interval), joint['step']
    least = MOVED + STEPS * _if_positive(step, FIRST_STEP)
    net = magnitude(state['moved_by_velocity'])
    by_velocity = smaller(net - least, net - TOLERANCE * state['way_by_velocity'])
    stopped = STOPPING * magnitude(2.0 * joint['slope'] - joint['smoother']) - (least - MOVED)
    repeats = (PERIODS - 1.0) * usual
    light = where_less(inertia, ROTOR, 1.0 - _equal(bent, 0.0), 0.0)
    # Until then, it would move by less than a step of its encoder with rotors.
    unseen = _if_positive(step, coarsest) * (inertia + ROTOR) / inertia
    moved = larger(
        magnitude(state['moved_by_torque']) - least,
        light * magnitude(joint['predicted_move']) - larger(SURELY * least, unseen),
    )
    by_torque = smaller(
        smaller(moved, joint['same_velocity_time'] - repeats),
        larger(joint['same_effort_time'] - repeats, larger(bent - STEPS * step, stopped)),
    )
    lasting = smaller(state['stale_time'] - PERIODS * usual, state['stale_samples'] - LEAST_SAMPLES)
    # It counts as frozen until a position is fresh.
    frozen = larger(smaller(lasting, larger(by_velocity, by_torque)), joint['frozen'] - 0.5)
    state['frozen'] = where_less(0.0, frozen, 1.0, 0.0)
    state['speed_by_torque'] = speed * where_less(0.0, frozen, 1.0, exp(-interval / FORGETTING))
    return state, frozen


def _beyond(x: Scalar, most: Scalar) -> Scalar:
    """The part of x outside of -most to most."""
    return x - clipped(x, -most, most)


def _between(x: Scalar, y: Scalar, z: Scalar) -> Scalar:
    """The number next to x between y and z."""
    return clipped(x, smaller(y, z), larger(y, z))


def _equal(x: Scalar, y: Scalar) -> Scalar:
    """1 if two numbers are equal, else 0."""
    return where_less(0.0, magnitude(x - y), 0.0, 1.0)


def _if(condition: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """One of two numbers, by a condition that is 1 or 0."""
    return where_less(0.5, condition, then, otherwise)


def _if_positive(x: Scalar, otherwise: Scalar) -> Scalar:
    """The number x if it is positive, else another one."""
    return where_less(0.0, x, x, otherwise)

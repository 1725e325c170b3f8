# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""impedance_controller_node: follows targets of a tool by joint torques for each joint state.

Every motion ends with torques that brake the arm. They are sent for each joint state, by ``tick``
while joint states are missing, and by ``_bring_to_rest`` before the node or the process ends.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.linalg import norm
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from dynamics_ros.collision.repulsion import check_spring
from dynamics_ros.commanding.arm import (
    PreparedArm,
    arm_settings,
    check_carries,
    friction_at_rest,
    reaction_settings,
    selected,
    stiffness_of,
)
from dynamics_ros.commanding.arm_state import (
    BRAKED,
    LEAVING,
    ArmState,
    after,
    controlled,
)
from dynamics_ros.commanding.joint_states import (
    HELD_UP,
    StateTiming,
    UnseenTime,
    describe_no_velocity,
    reason_to_brake,
    state_to_use,
    unseen_before,
)
from dynamics_ros.commanding.joints import check_order_is_known, nearest_equivalent_angles
from dynamics_ros.control import ArmSettings, CompliantArm, Reaction, ReactionSettings
from dynamics_ros.control.compliance.impedance import REST
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.commander import (
    POSE,
    TWIST,
    WRENCH,
    ArrayCommands,
    Commander,
    FramePose,
    TargetKind,
    check_size,
)
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.fallback_controller import FallbackController
from dynamics_ros.nodes.lifecycle import ManagedNode
from dynamics_ros.nodes.obstacles import Obstacles
from dynamics_ros.nodes.outputs import Publication
from dynamics_ros.nodes.robot_request import Description
from dynamics_ros.parameters.impedance import MAX_STIFFNESS, ImpedanceParameters
from dynamics_ros.reasons import FAULTS, Explanation, Reason, reason_of
from dynamics_ros.robot import Robot
from dynamics_ros.wire.cdr import Template
from dynamics_ros.wire.conversions import Array, float_array

if TYPE_CHECKING:
    from dynamics_ros.nodes.contact_node import Contact

NAME = 'impedance_controller_node'

KERNEL_PARAMETERS = frozenset(
    {'frame', 'command_joints', 'repulsion.stiffness', 'repulsion.distance'}
)
"""Parameters whose change requires new kernels; others take effect in the next step."""

INACTIVE_ONLY = ('friction_compensation', 'friction', 'robot_carries_itself', 'repulsion')
"""Parameters whose change moves an arm at once if they are wrong, or needs shapes that may be
missing; refused while active."""

MAX_BRAKING_TIME = 0.5
"""Maximum time of braking [s]; after it the arm is held where it is."""

REST_TIME = 0.05
"""Time at rest after which the arm counts as stopped [s]."""

RELEASE_TIME, RELEASED_SHARE = 0.3, 0.01
"""Maximum time in which torques other than gravity compensation are reduced within the torque
rates [s], and the share of the torque limits that may remain."""


MAX_PAIRS = 150
"""Maximum number of pairs of a link and an obstacle or another link that the repulsion measures for
each joint state."""

MOST_TAKEN_BACK = 0.5
"""Share of the torques of a gravity or payload that an arm takes back which does not carry it."""

RUNNING = 'a joint was far beyond its velocity limit'

MODE, ROBOT, PAUSED = 'another mode', 'another robot or parameter is taken over', 'paused'
REFLEX, ACKNOWLEDGED = 'the reflex is over', 'a collision is acknowledged'

UNTIL = Explanation(Reason.REACTING, 'holding until ~/acknowledge')

LIMITS = {
    'singular': 'near a singularity',
    'joint_limit': 'a joint near the end of its range',
    'guard': 'a joint kept from the end of its range',
    'torque': 'largest torque',
    'torque_rate': 'largest torque rate',
    'lead': 'the tool does not follow',
    'speed': 'a joint far beyond its velocity limit',
    'range': 'a joint far beyond its range',
}
"""Descriptions of the flags of the control law."""


def _stiffness(name: str, message: Any, _frame_pose: FramePose, _q: Array) -> Array:
    values = float_array(message.data)
    matrix = stiffness_of(f'{name}.data', values)
    check_size(f'{name}.data', values, MAX_STIFFNESS)
    return matrix


STIFFNESS = TargetKind('stiffness_command', Float64MultiArray, _stiffness, 'stiffness')
"""Stiffness (6, 6) [N/m, Nm/rad] in the axes of the root frame; it does not become stale."""


class Impedance(Commander[ImpedanceParameters, ArrayCommands, PreparedArm]):
    """Component that moves a tool by impedance control, and brakes when it cannot continue.

    Attributes:
        detector: detects collisions; None unless ``collision.reaction`` is set at start.
    """

    uses_masses = True
    subject = 'impedance'

    def __init__(self, node: ManagedNode, context: RobotContext) -> None:
        super().__init__(node, context, ImpedanceParameters)
        self.detector: Contact | None = None
        self.parameters.add_check(self._check)
        self.parameters.add_listener(self._changed)
        self._strategy = ''  # of the reaction to a collision, until it is acknowledged
        self._reflex: Reaction | None = None
        self._reaction = reaction_settings(self.values.collision)
        self._timing, self._unseen = StateTiming(), UnseenTime()
        self._braking_since = 0.0
        self._state = ArmState.OFF
        self._braking_reason = ''
        self._surrender: Explanation | None = None
        self._acting: set[str] = set()  # flags of the law since the last status
        self._fallback: FallbackController | None = None
        node.create_service(Trigger, '~/acknowledge', self._acknowledge)
        self._obstacles = Obstacles(node, context)
        self._unknown_obstacles = ''
        self.subscribe_targets((POSE, TWIST, WRENCH, STIFFNESS))

    # --- lifecycle ------------------------------------------------------------------------------

    def configure(self) -> None:
        """Create the topic of the commands, and the client for the fallback controller.

        Raises:
            DynamicsRosError: the parameters contradict each other or do not fit the robot, or
                ``fallback_controller`` needs a package that is not installed.
        """
        values = self.values
        self._check(values)
        check_order_is_known(values.command_joints, 'effort')
        if values.fallback_controller:
            self._fallback = FallbackController(self.node, values.fallback_controller)
        self.commands = ArrayCommands(self.node)

    def activate(self) -> None:
        """Hold the tool, and follow targets that arrive from now on."""
        self.targets.drop('')
        self._reflex = self._surrender = None  # of another motion or another arm

    def deactivate(self) -> None:
        """Bring the arm to rest; after it returns, nothing more is sent."""
        self.targets.drop('')
        self._surrender = None
        if self._prepared is not None:
            self._bring_to_rest(self._prepared)

    def cleanup(self) -> None:
        """Destroy the topic of the commands and the client."""
        super().cleanup()
        if self._fallback is not None:
            self._fallback.close()
            self._fallback = None

    # --- the robot ------------------------------------------------------------------------------

    @property
    def sends_torques(self) -> bool:
        """Whether torques that depend on gravity and payload move the robot now."""
        return self.active

    def prepare(self, robot: Robot, description: Description) -> PreparedArm:
        """Check frame and joints, compile the kernels, and read the shapes of links."""
        values, links = self.values, None
        if values.repulsion.stiffness > 0.0:
            links = self._obstacles.links(robot, description, 0.0)
            if len(links.pairs) > MAX_PAIRS:
                found, expected = f'{len(links.pairs)} pairs of links', f'up to {MAX_PAIRS}, or 0'
                raise InvalidArgumentError('repulsion.stiffness', found, expected)
        return PreparedArm.of(robot, values, robot.tool_frame, links)

    def leave(self, prepared: Any) -> None:
        """Bring the arm to rest, unless the new robot has the same joints in the same order."""
        before = self._prepared
        if before is None:
            return
        if isinstance(prepared, PreparedArm):
            same = before.robot.joint_names == prepared.robot.joint_names
            if same and before.joints == prepared.joints:
                return
        self._surrender = None
        if self._state is not ArmState.OFF:
            self._brake(ROBOT, expected=True)
            self._bring_to_rest(before)
        self._prepared = None

    def adopt(self, prepared: PreparedArm) -> None:
        """Switch to another robot: brake, then hold its tool."""
        before = self._prepared
        self.targets.drop('')
        self._reflex = self._surrender = None  # of another motion or another arm
        if before is not None and self._state is not ArmState.OFF:
            arm = before.arm
            prepared.arm.start(arm.q, arm.v, arm.tau)
            prepared.check.go_on(before.check)
            self._brake(ROBOT, expected=True)
        self._prepared, self.state = prepared, None
        self._apply(self.values)

    def resistance(self, before: Robot) -> str:
        """Return why the arm does not carry what gravity or payload say since a robot."""
        prepared = self._prepared
        if prepared is None or self._state is ArmState.OFF:
            return ''
        robot, arm = prepared.robot, prepared.arm
        if robot.joint_names != before.joint_names:
            return ''
        share = arm.taken_back(robot.gravity(arm.q) - before.gravity(arm.q))
        text = f'moves the arm, which takes back {100.0 * share:.0f} % of the additional torques'
        return text if share > MOST_TAKEN_BACK else ''

    def observe(self, state: RobotState) -> None:
        """Store the state; the plan then calls ``_fill_torques`` if it has the velocities.

        A joint that is not commanded has to have one only at the start.
        """
        lacking = state.velocity_missing
        if lacking and self._prepared is not None and self._state is not ArmState.OFF:
            lacking = tuple(name for name in lacking if name in self._prepared.joints)
        self.unavailable_reason = self.reason_not_to_send() or describe_no_velocity(lacking)
        self.state = state

    def publications(self) -> list[Publication]:
        """Return the output of torques, for each joint state."""
        if self.commands is None or self._prepared is None:
            return []
        # How old a joint may be is decided here, by ``joint_state_timeout``.
        return [Publication(self.commands, self._fill_torques)]

    def failed(self, error: Exception) -> None:
        """Brake because of an error."""
        super().failed(error)
        self._brake(self.unavailable_reason)

    def reason_not_to_send(self) -> str:
        """Return why no commands are sent; '' if they may be."""
        return '' if self._state in LEAVING else self.node.inactive()

    def _check(self, values: ImpedanceParameters) -> None:
        stiffness_of('stiffness', np.array(values.stiffness))
        reaction_settings(values.collision)
        check_spring(values.repulsion.stiffness, values.repulsion.distance)
        reaction = values.collision.reaction
        undetected = self.detector is None and self.values.collision.reaction == 'none'
        if undetected and reaction != 'none':
            expected = 'none: what detects collisions is made at start, where this is not none'
            raise InvalidArgumentError('collision.reaction', reaction, expected)
        for name in INACTIVE_ONLY if self.active else ():
            if getattr(values, name) != getattr(self.values, name):
                raise InvalidArgumentError(name, 'set while active', 'deactivation before')
        built = self.context.built
        if built is not None:
            selected(built.robot, values, built.robot.tool_frame)
            arm_settings(built.robot, values, np.eye(6))
        self._check_running(values)

    def _check_running(self, values: ImpedanceParameters) -> None:
        """Refuse parameters, with the commanded stiffness, that would move a running arm."""
        prepared = self._prepared
        if prepared is not None and self._state is not ArmState.OFF:
            arm, settings = prepared.arm, self._settings(prepared, values)
            check_carries(arm, settings)
            interval = max(self._timing.cycle, self._timing.shortest)
            arm.check(settings, values.mode == 'guiding', interval)

    def _changed(self, names: frozenset[str]) -> None:
        if 'stiffness' in names:
            self.targets.drop('', STIFFNESS.place)
        if 'mode' in names:
            self._brake(MODE, expected=True)
        # The change may solve the problem for which the robot was refused.
        if names & KERNEL_PARAMETERS or self.problem:
            self.context.changes.rebuild(NAME)
        else:
            self._apply(self.values)

    def _apply(self, values: ImpedanceParameters) -> None:
        """Apply parameters and the commanded stiffness from the next step on."""
        if self._prepared is not None:
            prepared = self._prepared
            prepared.arm.settings = self._settings(prepared, values)
            prepared.check.friction = friction_at_rest(prepared.robot, values, prepared.places)
            self._reaction = reaction_settings(values.collision)

    def _settings(self, prepared: PreparedArm, values: ImpedanceParameters) -> ArmSettings:
        """Settings of the arm by parameters and the commanded stiffness."""
        target = self.targets.of(STIFFNESS.place)
        stiffness = None if target is None else target.values
        if stiffness is None or values.stiffness != self.values.stiffness:
            stiffness = stiffness_of('stiffness', np.array(values.stiffness))
        return arm_settings(prepared.robot, values, stiffness)

    # --- commands -------------------------------------------------------------------------------

    def follow_target(self, kind: TargetKind, data: bytes, state: RobotState) -> None:
        """Follow a target, unless a collision awaits acknowledgement."""
        if self._strategy:
            return
        self.targets.take(kind, data, state.q)
        target = self.targets.of(kind.place)
        if kind is WRENCH and target is not None:
            limits, norms = self.values.wrench, norm(target.values.reshape(2, 3), axis=1)
            for name, unit, size in zip(('force', 'torque'), ('N', 'Nm'), norms, strict=True):
                limit = getattr(limits, name)
                if size > limit:
                    bound = f'expected up to wrench.{name}, {limit:g} {unit}'
                    self.targets.refuse(kind, f'has {size:g} {unit}, {bound}')
        if kind is STIFFNESS:
            try:
                self._check_running(self.values)
            except InvalidArgumentError as error:
                self.targets.refuse(kind, str(error))
            self._apply(self.values)

    def pause(self) -> None:
        """Brake and hold until the next target."""
        self._brake(PAUSED, expected=True)

    def _brake(self, reason: str, expected: bool = False) -> None:
        """Drop the targets, brake until the arm is at rest, then hold.

        Args:
            reason: reason, reported in the status; a problem stays there until the next target.
            expected: whether this is no problem.
        """
        self.targets.drop('' if expected else reason)
        if self._state is not ArmState.BRAKING:
            self._braking_since = time.monotonic()
        self._braking_reason = reason
        self._state = after(self._state, ArmState.BRAKING)

    def _control(self) -> None:
        """Control the arm, after a start or after braking, as parameters and services ask for."""
        guiding = self.values.mode == 'guiding'
        wanted = controlled(bool(self._strategy), self.paused, guiding)
        self._state = after(self._state, wanted)

    def _acknowledge(self, _request: Any, response: Any) -> Any:
        """Acknowledge a collision, so that targets are followed again."""
        was, self._strategy, self._reflex = self._strategy, '', None
        response.message = f'the collision is over ({was})' if was else 'there was no collision'
        if self.detector is not None:
            self.detector.acknowledge()
        if was:
            self._brake(ACKNOWLEDGED, expected=True)
        response.success = True
        return response

    # --- steps ----------------------------------------------------------------------------------

    def _fill_torques(self) -> Template | None:
        """Return the message with the torques for the latest state; None without an arm."""
        prepared, commands, state = self._prepared, self.commands, self.state
        if prepared is None or commands is None or state is None:
            return None
        arm = prepared.arm
        is_first = self._state is ArmState.OFF
        if is_first:
            arm.start(state.q, state.v)
            self._forget_distances()
            guided = self.values.mode == 'guiding'
            try:
                arm.check(arm.settings, guided)
            except InvalidArgumentError as error:
                arm.forget()
                self._surrender = Explanation(Reason.CHANGE_REFUSED, str(error))
                return None
            self._control()
            prepared.check.begin(state.q, state.v, arm.tau)
            self._timing.start(state.time, self.node.get_parameter('use_sim_time').value)
            self._unseen = UnseenTime()
        state = state._replace(q=nearest_equivalent_angles(state.q, arm.q, prepared.turning))
        missing = self._timing.missing
        interval = self._timing.interval(state.time)
        arm.hold = self._timing.held
        timeout = self.values.joint_state_timeout
        implausible = reason_to_brake(prepared, state, self._timing, missing, interval, timeout)
        if implausible:
            self._brake(implausible)
        state = state_to_use(prepared, state, implausible)
        self._place_obstacles(prepared)
        blind = prepared.check.blind and prepared.check.lasting
        known = unseen_before(prepared, implausible, timeout)
        # Stamps of a driver that fails may stand; a pause of this process does not count.
        step = max(interval, min(missing, HELD_UP))
        unseen = known is not None and self._unseen.lasts(timeout, step, known)
        if (blind or unseen) and self._state not in LEAVING:
            self._surrender = implausible
        watching = self._reaction if self.values.mode != 'guiding' else None
        self._notice_collision(arm, watching, is_first or self._state in BRAKED)
        braked = self._state in BRAKED
        text, tau = self._step(arm, state, interval)
        if known is None:  # not before: a step that fails has used no state
            self._unseen.lasts(timeout, max(interval, missing), None)
        if 'speed' in arm.acting and not braked:
            self._brake(RUNNING)
        self._timing.answered = self._timing.sent = time.monotonic()
        self._acting |= set() if braked else {*arm.acting}
        if arm.setpoint.waits:
            self._acting.add('lead')
        self._show(text, watching is not None)
        return commands.filled(self._efforts(prepared, tau))

    def _notice_collision(
        self, arm: CompliantArm, settings: ReactionSettings | None, braking: bool
    ) -> None:
        """React to a collision, but with no settings, as during hand guiding, to none.

        An arm that brakes or does not move yet goes on with it, and holds until acknowledgement.
        """
        if self.detector is not None and self.detector.collided and not self._strategy:
            if settings is None:
                self.detector.acknowledge()
            else:
                self._strategy = settings.strategy
                self._reflex = None if braking else Reaction(settings, arm)
        if self._strategy and self._state not in BRAKED:
            reacts = self._reflex is not None
            self._state = after(self._state, ArmState.REACTING if reacts else ArmState.COLLIDED)

    def _place_obstacles(self, prepared: PreparedArm) -> None:
        """Give the obstacles to the repulsion; with unknown ones no target is followed."""
        if prepared.links is None or prepared.repulsion is None:
            return
        scene, problem = self._obstacles.accepted(prepared.links), self._obstacles.problem
        if len(scene.pairs) > MAX_PAIRS:
            problem = f'~/obstacles refused: {len(scene.pairs)} pairs with links; up to {MAX_PAIRS}'
            scene = prepared.repulsion.collisions
        prepared.repulsion.collisions = scene
        self._unknown_obstacles = f': {problem}' if problem else ''
        if problem:
            self.targets.drop(problem)

    def _forget_distances(self) -> None:
        """Let the repulsion push only what comes closer than it is now."""
        if self._prepared is not None and self._prepared.repulsion is not None:
            self._prepared.repulsion.forget()

    def _step(self, arm: CompliantArm, state: RobotState, dt: float) -> tuple[Explanation, Array]:
        """Return the current action, and its torques (nv)."""
        q, v, reflex = state.q, state.v, self._reflex
        if self._state is ArmState.RELEASING:
            return _braking('deactivated'), arm.give_way(q, v, dt, np.zeros(len(v)))
        if self._state in BRAKED:
            tau, reason = arm.brake(q, v, dt), self._braking_reason
            if arm.at_rest or time.monotonic() - self._braking_since > MAX_BRAKING_TIME:
                self._control()
                arm.stay()
                self._forget_distances()
            return _braking(reason), tau
        if self._state is ArmState.REACTING and reflex is not None:
            tau = reflex.step(q, v, dt)
            if reflex.over:
                self._brake(REFLEX, expected=True)
            return Explanation(Reason.REACTING, ''), tau
        if self._state is ArmState.COLLIDED:
            return UNTIL, arm.approach(q, v, dt, None)
        if self._state is ArmState.GUIDED:
            problem = self._unknown_obstacles
            return Explanation(Reason.GUIDED, f'guided by hand{problem}'), arm.guide(q, v, dt)
        followed, tau = self._follow(arm, q, v, dt)
        code, doing = Reason.FOLLOWING, f'following {followed}'
        if not followed:
            is_paused = self._state is ArmState.PAUSED
            code, doing = (Reason.PAUSED, PAUSED) if is_paused else (Reason.HOLDING, 'holding')
        if problem := self.targets.problem:
            code = Reason.HALTED if code is Reason.HOLDING else code
            doing = f'{doing}: {problem}'
        return Explanation(code, doing), tau

    def _follow(self, arm: CompliantArm, q: Array, v: Array, dt: float) -> tuple[str, Array]:
        """Return the name of the followed target, '' without one, and its torques (nv)."""
        targets, timeout = self.targets, self.values.command_timeout
        goal, wrench, name = None, REST, ''
        try:
            pressing, target = targets.fresh(timeout, WRENCH.place), targets.fresh(timeout)
            if pressing is not None:
                wrench, name = pressing.in_root_axes(self.frame_pose, q), WRENCH.name
            if target is not None:
                name = target.kind.name
                if target.kind is TWIST:
                    twist = target.in_root_axes(self.frame_pose, q)
                    return name, arm.drive(q, v, dt, twist, wrench)
                goal = target.values
        except DynamicsRosError as error:  # tf no longer provides a frame
            targets.drop(f'a target ended: {error}')
            goal, wrench, name = None, REST, ''
        return name, arm.approach(q, v, dt, goal, wrench)

    def _efforts(self, prepared: PreparedArm, tau: Array) -> Array:
        """Return the efforts for the controller, in its joint order, from torques (nv)."""
        if self.values.robot_carries_itself:
            tau = tau - prepared.arm.gravity
        return tau[prepared.places]

    def tick(self, now: float, elapsed: float) -> None:
        """Brake the arm while joint states are missing; report what the node waits for."""
        prepared, commands = self._prepared, self.commands
        if self._surrender:
            reason, self._surrender = self._surrender, None
            self._hand_over(reason)
        elif not self.active or prepared is None or commands is None:
            self.publish_status(self.idle())
        elif self._state is not ArmState.OFF:
            self._brake_without_states(prepared, commands)
        elif commands.has_subscribers(now):
            self.publish_status(self.idle())
        else:
            text = f'waiting: nobody listens to {commands.topic}'
            self.publish_status(Explanation(Reason.NO_SUBSCRIBER, text))

    def _hand_over(self, reason: Explanation) -> None:
        """Give up an arm whose motion is unknown: its drives and brakes have to hold it."""
        moves = self._state is not ArmState.OFF
        if moves and self._fallback is not None and self.commands is not None:

            def report(result: str) -> None:
                text = f'{reason}; {result}'
                self.node.get_logger().error(text)
                if self.node.refusal == reason:
                    self.node.refusal = Explanation(reason.reason, text)
                    self.lifecycle_changed()

            # Asked for first: deactivation takes until the arm is at rest.
            problem = self._fallback.take_over(self.commands.topic, report)
            if problem:
                reason = Explanation(reason.reason, f'{reason}; {problem}')
        self.node.give_up(reason)

    def _brake_without_states(self, prepared: PreparedArm, commands: ArrayCommands) -> None:
        """Send braking torques if joint states are missing or cannot be processed."""
        if not self._timing.late:
            return
        # After a stall of this process, the joint states may be waiting in the queue.
        self.context.inputs.incoming.process_waiting()
        if not self._timing.late:
            return
        subscribed = commands.has_subscribers(time.monotonic())
        reason: str = Explanation(Reason.BRAKING, 'joint states fail to come')
        timeout = self.values.joint_state_timeout
        unseen = self._unseen.lasts(timeout, self.lived, 0.0)
        if unseen:
            # That of states before, which cannot be used either.
            reason = self._braking_reason or reason
        if self._timing.missing > timeout:
            stopped = self.context.inputs.describe_stopped
            reason = self.problem or self.unavailable_reason or stopped()
            if not subscribed:
                reason = f'nobody listens to {commands.topic}'
            self._brake(reason)
            if not subscribed:
                prepared.arm.forget()
                self._state = ArmState.OFF
                return
        if unseen:
            self._surrender = Explanation(reason_of(reason), reason)
        self._send_predicted(prepared, commands)
        self._show(_braking(reason))

    def _send_predicted(self, prepared: PreparedArm, commands: ArrayCommands) -> None:
        """Send braking torques for the predicted motion of the arm."""
        now, arm = time.monotonic(), prepared.arm
        dt = self._timing.passed(now - self._timing.sent)
        try:
            if self._state is ArmState.RELEASING:
                tau = arm.give_way(arm.q, arm.v, dt, np.zeros(len(arm.v)))
            else:
                tau = arm.reckon(dt)
        except Exception as error:
            self.faults.report('braking', error)
            tau = arm.gravity
        self._timing.sent = now
        commands.command(self._efforts(prepared, tau))

    def _bring_to_rest(self, prepared: PreparedArm) -> None:
        """Send braking torques until the arm is at rest, then the final command.

        An arm that is given up is not braked any more: by predictions, torques would drive it.
        """
        commands, arm, values = self.commands, prepared.arm, self.values
        if commands is None or self._state is ArmState.OFF:
            return
        if self.node.given_up or self._state is not ArmState.BRAKING:
            self._braking_reason = self.node.given_up or 'deactivated'
        self._state, self.unavailable_reason = after(self._state, ArmState.ENDING), ''
        start = moved = time.monotonic()
        brakes = not self.node.given_up
        try:
            while (
                brakes
                and (now := time.monotonic()) - moved < REST_TIME
                and now - start < values.stop_time
            ):
                self._send_when_due(prepared, commands)
                moved = moved if arm.at_rest else time.monotonic()
            self._state = after(self._state, ArmState.RELEASING)
            start = time.monotonic()
            while (
                arm.held_beside_weight >= RELEASED_SHARE and time.monotonic() - start < RELEASE_TIME
            ):
                self._send_when_due(prepared, commands)
        finally:
            self._state = ArmState.OFF
            last = self._efforts(prepared, arm.gravity)
            commands.command(np.zeros(len(last)) if values.commands_at_end == 'zero' else last)
            commands.wait_until_received()
            arm.forget()
        if brakes and not arm.at_rest:
            text = f'the arm was not at rest after stop_time, {values.stop_time:g} s'
            self.node.get_logger().warning(text)

    def _send_when_due(self, prepared: PreparedArm, commands: ArrayCommands) -> None:
        """Send torques for the joint states that have come, or for a predicted one; then wait."""
        self.context.inputs.incoming.process_waiting()
        if self._timing.late:
            self._send_predicted(prepared, commands)
        time.sleep(0.5 * self._timing.cycle)

    # --- status ---------------------------------------------------------------------------------

    def _show(self, text: Explanation, watching: bool = False) -> None:
        """Publish an action with the reaction to a collision, or why none would be detected."""
        strategy, detector, undetected = self._strategy, self.detector, ''
        if strategy:
            parts = f'reacting: {strategy}', text
            text = Explanation(Reason.REACTING, '; '.join(filter(None, parts)))
        elif watching and detector is not None and detector.detection_problem:
            undetected = f'; collisions are not detected: {detector.detection_problem}'
            text = Explanation(text.reason, f'{text}{undetected}')
        self.publish_status(text, bool(undetected))

    def with_limits(self, text: Explanation) -> tuple[Explanation, bool]:
        """Return an action with the limits since the last status, and whether it is a problem."""
        acting, self._acting, code = self._acting, set(), text.reason
        follows = self._state in (ArmState.FOLLOWING, ArmState.PAUSED)
        has_problem = code is Reason.BRAKING or bool(self._unknown_obstacles)
        has_problem |= follows and bool(self.targets.problem)
        if limits := ', '.join(words for flag, words in LIMITS.items() if flag in acting):
            limited = code if code in FAULTS else Reason.LIMITED
            text = Explanation(limited, f'{text}; limited by: {limits}')
        return text, has_problem


def _braking(reason: str) -> Explanation:
    code = reason.reason if isinstance(reason, Explanation) else Reason.BRAKING
    return Explanation(code, f'braking: {reason}')

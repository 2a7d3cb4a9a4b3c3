import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import { endCommands } from '../boxes/end.ts'
import type { RunningBoxes } from '../boxes/running-boxes.ts'
import type { BoxHandle } from '../host/handle.ts'
import { boxIdOf } from './box-pods.ts'
import { GRACE_SLACK_SECONDS } from './spec.ts'

/** Ends boxes whose pods someone other than the agent deletes. */
export interface PodDrain {
  /**
   * Handles a changed pod. If its deletion has begun and its box runs in it, ends the box's commands with their grace period, then init.
   */
  onPodChange(pod: Pod): void
}

/** Without it the kubelet would end init first, and with it all other processes at once. */
export function createPodDrain({ boxes, logger }: { boxes: RunningBoxes; logger: Logger }): PodDrain {
  const draining = new Set<string>()
  const drain = async (id: string, init: number, graceMs: number): Promise<void> => {
    if (draining.has(id)) return
    draining.add(id)
    try {
      await endCommands(boxes.host.cgroups, id, { graceMs, init })
      if (boxes.read(id)?.pid === init) process.kill(init, 'SIGKILL')
    } catch (error) {
      logger.error('failed to stop a box whose pod is being deleted', { box: id, error })
    } finally {
      draining.delete(id)
    }
  }
  return {
    onPodChange: (pod) => {
      const { uid = '', deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata ?? {}
      const id = boxIdOf(pod)
      if (deletionTimestamp === undefined || id === undefined) return
      const handle = boxes.read(id)
      if (handle === null || !isOfPod(handle, uid)) return
      void drain(id, handle.pid, Math.max(0, deletionGracePeriodSeconds - GRACE_SLACK_SECONDS) * 1000)
    },
  }
}

// The name of the pod's cgroup has the uid, with dashes (cgroupfs driver) or underscores (systemd driver).
function isOfPod({ cgroup }: BoxHandle, uid: string): boolean {
  return cgroup?.includes(uid) === true || cgroup?.includes(uid.replaceAll('-', '_')) === true
}

import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import { endCommands } from '../boxes/end.ts'
import type { RunningBoxes } from '../boxes/running-boxes.ts'
import type { BoxHandle } from '../host/handle.ts'
import { boxIdOf } from './box-pods.ts'
import { GRACE_SLACK_SECONDS } from './spec.ts'

/** Ends boxes whose pods somebody else deletes. */
export interface PodDrain {
  /** A pod has changed: if it is being deleted, and its box runs in it, the box's commands get their time, then it ends. */
  look(pod: Pod): void
}

/** Without it the kubelet would end init, and with it at once all others. */
export function createPodDrain({ boxes, logger }: { boxes: RunningBoxes; logger: Logger }): PodDrain {
  const draining = new Set<string>()
  const drain = async (id: string, init: number, graceMs: number): Promise<void> => {
    if (draining.has(id)) return
    draining.add(id)
    try {
      await endCommands(boxes.host.cgroups, id, { graceMs, init })
      if (boxes.read(id)?.pid === init) process.kill(init, 'SIGKILL')
    } catch (error) {
      logger.error('a box whose pod is deleted could not be ended', { box: id, error })
    } finally {
      draining.delete(id)
    }
  }
  return {
    look: (pod) => {
      const { uid = '', deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata ?? {}
      const id = boxIdOf(pod)
      if (deletionTimestamp === undefined || id === undefined) return
      const handle = boxes.read(id)
      if (handle === null || !isOfPod(handle, uid)) return
      void drain(id, handle.pid, Math.max(0, deletionGracePeriodSeconds - GRACE_SLACK_SECONDS) * 1000)
    },
  }
}

// Of the pod's cgroup the uid is part of the name, in the way of either driver.
function isOfPod({ cgroup }: BoxHandle, uid: string): boolean {
  return cgroup?.includes(uid) === true || cgroup?.includes(uid.replaceAll('-', '_')) === true
}

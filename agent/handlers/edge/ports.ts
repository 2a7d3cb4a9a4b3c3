import type { Boxes } from '../../core/boxes/boxes.ts'
import type { BoxPortOpener } from '../../core/edge/box-ports.ts'
import type { StreamHandlers } from '../common/call.ts'
import { checkBound } from '../exec/exec.ts'

/** Handles connections to ports of boxes over WebSockets. */
export function createPortHandlers(deps: { boxes: Boxes; ports: BoxPortOpener }): Pick<StreamHandlers, 'openPort'> {
  const { boxes, ports } = deps
  return {
    openPort: async ({ params, boundBoxId }) =>
      ports.open(checkBound(await boxes.get(params), boundBoxId), Number(params.port)),
  }
}

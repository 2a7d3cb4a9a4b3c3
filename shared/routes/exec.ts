import { define } from '../operation.ts'
import { boxParams } from '../schemas/boxes.ts'
import {
  execBodySchema,
  execGetQuery,
  execListQuery,
  execListSchema,
  execOutputQuery,
  execOutputSchema,
  execParams,
  execQuery,
  execRecordSchema,
  execSchema,
  execSignalBodySchema,
} from '../schemas/exec.ts'

const BOX = '/v1/projects/{project}/boxes/{name}'

/** Commands in boxes. */
export const execOperations = {
  createExec: define({
    id: 'createExec',
    method: 'POST',
    path: `${BOX}/exec`,
    summary: 'Run a command to its end, or to the end of the wait',
    permission: 'exec',
    params: boxParams,
    query: execQuery,
    body: execBodySchema,
    response: execSchema,
    laterStatus: 202,
    maxBodyBytes: 6 * 1024 * 1024,
    errors: ['box_not_found', 'box_not_running', 'environment_reserved'],
  }),
  listExecs: define({
    id: 'listExecs',
    method: 'GET',
    path: `${BOX}/exec`,
    summary: 'List the commands of a box, oldest first, without their output',
    permission: 'exec',
    params: boxParams,
    query: execListQuery,
    response: execListSchema,
    errors: ['box_not_found'],
  }),
  getExec: define({
    id: 'getExec',
    method: 'GET',
    path: `${BOX}/exec/{exec}`,
    summary: 'What became of a command, with its output',
    permission: 'exec',
    params: execParams,
    query: execGetQuery,
    response: execSchema,
    errors: ['box_not_found', 'exec_not_found'],
  }),
  getExecOutput: define({
    id: 'getExecOutput',
    method: 'GET',
    path: `${BOX}/exec/{exec}/output`,
    summary: 'Read a stream of a command from an offset on',
    permission: 'exec',
    params: execParams,
    query: execOutputQuery,
    response: execOutputSchema,
    errors: ['box_not_found', 'exec_not_found', 'range_not_satisfiable'],
  }),
  signalExec: define({
    id: 'signalExec',
    method: 'POST',
    path: `${BOX}/exec/{exec}/signal`,
    summary: 'Signal a command and all it started; one that has ended is answered as it ended',
    permission: 'exec',
    params: execParams,
    body: execSignalBodySchema,
    response: execRecordSchema,
    errors: ['box_not_found', 'exec_not_found'],
  }),
} as const

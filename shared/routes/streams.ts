import * as z from 'zod'
import { define } from '../operation.ts'
import { boxParams } from '../schemas/boxes.ts'
import { nameSchema } from '../schemas/common.ts'
import {
  consoleQuery,
  execStreamQuery,
  projectTicketBodySchema,
  sessionListSchema,
  sessionParams,
  ticketBodySchema,
  ticketSchema,
} from '../schemas/streams.ts'

const BOX = '/v1/projects/{project}/boxes/{name}'

/** WebSockets, consoles, and tickets for what a function cannot carry. */
export const streamOperations = {
  streamExec: define({
    id: 'streamExec',
    method: 'GET',
    path: `${BOX}/exec/ws`,
    summary: 'Run a command over a WebSocket, as a Kubernetes client does',
    permission: 'exec',
    params: boxParams,
    query: execStreamQuery,
    response: null,
    status: 101,
    transport: 'websocket',
    errors: ['box_not_found', 'box_not_running', 'environment_reserved', 'runtime_unavailable', 'upgrade_required'],
  }),
  openConsole: define({
    id: 'openConsole',
    method: 'GET',
    path: `${BOX}/console`,
    summary: 'Attach to a console of the box over a WebSocket, or begin it',
    permission: 'exec',
    params: boxParams,
    query: consoleQuery,
    response: null,
    status: 101,
    transport: 'websocket',
    errors: ['box_not_found', 'box_not_running', 'runtime_unavailable', 'upgrade_required'],
  }),
  listSessions: define({
    id: 'listSessions',
    method: 'GET',
    path: `${BOX}/sessions`,
    summary: 'List the consoles of a box that run, by name',
    permission: 'exec',
    params: boxParams,
    response: sessionListSchema,
    errors: ['box_not_found'],
  }),
  deleteSession: define({
    id: 'deleteSession',
    method: 'DELETE',
    path: `${BOX}/sessions/{session}`,
    summary: 'End a console: SIGHUP to all it started, then SIGKILL',
    permission: 'exec',
    params: sessionParams,
    response: null,
    status: 204,
    errors: ['box_not_found', 'session_not_found'],
  }),
  createTicket: define({
    id: 'createTicket',
    method: 'POST',
    path: `${BOX}/tickets`,
    summary: 'Get a URL that is good once, for 60 s, for what a function cannot carry',
    permission: 'any',
    params: boxParams,
    body: ticketBodySchema,
    response: ticketSchema,
    status: 201,
    errors: ['box_not_found', 'permission_denied'],
  }),
  createProjectTicket: define({
    id: 'createProjectTicket',
    method: 'POST',
    path: '/v1/projects/{project}/tickets',
    summary: 'Get a URL that is good once, for 60 s, for an upload, or a stream of events, of no box',
    permission: 'any',
    params: z.strictObject({ project: nameSchema }),
    body: projectTicketBodySchema,
    response: ticketSchema,
    status: 201,
    errors: ['permission_denied'],
  }),
} as const

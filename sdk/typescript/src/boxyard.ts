import { pathFields } from './byte-names.ts'
import type { AnswerOf, Caller, CallInput, FullAnswer } from './calls.ts'
import { createCaller } from './calls.ts'
import { createDoors, type Doors, type Query, type UploadBody } from './doors.ts'
import { type BoxyardEvent, type FollowOptions, followEvents } from './events.ts'
import { type ConsoleOptions, openConsole, type RunControl, runExec, type StreamOptions, streamExec } from './exec.ts'
import { holdObject } from './held-answers.ts'
import { type ItemOf, type ListId, listAll } from './paging.ts'
import { openPort, type PortStream } from './port-stream.ts'
import { followReads } from './redirects.ts'
import { serviceOrigin } from './service-origin.ts'
import type { TerminalStream } from './terminal-stream.ts'
import { type BoxRecord, type Operation, waitForBox, waitForOperation } from './waits.ts'

export interface BoxyardOptions {
  /** Origin of the service, such as `http://127.0.0.1:8080`. Without a scheme it means HTTPS, except for this machine. */
  url: string
  /** An access token, or a function that returns the current one for each request. White space around it is ignored. */
  token?: string | (() => string | null) | undefined
  /**
   * `auto` (default) uses tickets in a browser and where the front cannot stream. `always` streams only through the data address. `front`
   * streams only through the front, with tickets for WebSockets. Pages at the address of the front need this, because no WebSocket can send
   * their session.
   */
  tickets?: 'auto' | 'always' | 'front' | undefined
  /** How often the client sends a request until it gets an answer, with pauses that double from 0.1 s. Default: 6. */
  attempts?: number | undefined
  /** Replaces the platform's fetch. */
  fetch?: ((request: Request) => Promise<Response>) | undefined
}

/** A client of one service with one token. */
export interface Boxyard {
  readonly call: Caller['call']
  readonly callFully: Caller['callFully']
  readonly transfer: Caller['transfer']
  /** Iterates over a list of any length, such as `listBoxes`. */
  list<Id extends ListId>(id: Id, input: CallInput<Id>): AsyncGenerator<ItemOf<Id>>
  /** Follows the events of a project, or of all for `-`, without end. */
  events(project: string, options?: FollowOptions): AsyncGenerator<BoxyardEvent>
  /** Waits for the end of an operation, given by its id or `Operation-Location`. */
  waitForOperation(operation: string, signal?: AbortSignal): Promise<Operation>
  /** Creates a box, and waits until it runs or failed to start. */
  createBox(project: string, body: CallInput<'createBox'>['body']): Promise<BoxHandle>
  /** Creates a base from a tar, or with `image: 'true'` from an image. The answer shows if the base is still being created. */
  createBaseFrom(project: string, archive: UploadBody, query: Query): Promise<FullAnswer<AnswerOf<'createBase'>>>
  /** Returns a handle of an existing box. Sends no request. */
  box(project: string, name: string): BoxHandle
}

/** A box of a project, by its name. */
export interface BoxHandle {
  readonly project: string
  readonly name: string
  info(): Promise<BoxRecord>
  /** Runs a command or shell line to its end. Aborting the signal also ends the command, unless `onAbort` is `detach`. */
  run(command: string | readonly string[], options?: RunOptions): Promise<AnswerOf<'createExec'>>
  /** Starts a command and streams input and output. */
  stream(command: readonly string[], options?: StreamOptions): Promise<TerminalStream>
  /** Attaches to a console. */
  console(options?: ConsoleOptions): Promise<TerminalStream>
  /** Connects to a TCP port, published or not. An abort of the signal breaks the connection. */
  connect(port: number, options?: { signal?: AbortSignal | undefined }): Promise<PortStream>
  /** Paths of a handle may hold bytes that are not UTF-8, as `textOfBytes` decodes them. */
  readFile(path: string, query?: Query): Promise<ReadableStream<Uint8Array>>
  /** Sends bodies that are too long for a front that is a function to the data address, unless it has already read a stream. */
  writeFile(path: string, body: UploadBody | string, query?: Query): Promise<AnswerOf<'writeFile'>>
  /** A tar of a path. */
  readArchive(path: string, query?: Query): Promise<ReadableStream<Uint8Array>>
  /** Unpacks a tar into a directory, and returns the members that it refused. */
  writeArchive(path: string, body: UploadBody, query?: Query): Promise<AnswerOf<'writeArchive'>>
  fork(name: string, more?: Omit<CallInput<'createBox'>['body'], 'name' | 'fork' | 'base'>): Promise<BoxHandle>
  /** Takes a snapshot of the disk and, if asked, of the data volumes. The service chooses a name if none is given. */
  snapshot(
    name?: string,
    more?: Omit<CallInput<'createBoxSnapshot'>['body'], 'name'>,
  ): Promise<AnswerOf<'createBoxSnapshot'>>
  /** Iterates over its snapshots, oldest first. */
  snapshots(): AsyncGenerator<ItemOf<'listBoxSnapshots'>>
  /** Restores the box to a snapshot, and waits until that is done. The service first saves the present state as an automatic snapshot. */
  restore(snapshot: string, more?: Omit<CallInput<'restoreBox'>['body'], 'snapshot'>): Promise<BoxRecord>
  /** Iterates over the changes on its disk since a snapshot, until another one or now. */
  diff(snapshot: string, to?: string): AsyncGenerator<ItemOf<'diffBoxSnapshot'>>
  /** Signals all processes of a command, by its id. */
  signal(exec: string, name: CallInput<'signalExec'>['body']['signal']): Promise<AnswerOf<'signalExec'>>
  /** Iterates over its services by name. */
  services(): AsyncGenerator<ItemOf<'listServices'>>
  stop(): Promise<BoxRecord>
  resume(): Promise<BoxRecord>
  delete(): Promise<void>
  waitUntil(status: BoxRecord['status'], signal?: AbortSignal): Promise<BoxRecord>
}

export type RunOptions = Omit<CallInput<'createExec'>['body'], 'command' | 'shell'> & RunControl

/** Creates a client. Sends no request yet. @throws TypeError for a URL that is not an origin */
export function createBoxyard(options: BoxyardOptions): Boxyard {
  const { token, tickets = 'auto', attempts = 6 } = options
  const url = serviceOrigin(options.url)
  const fetch = followReads(options.fetch ?? globalThis.fetch)
  const tokenOf = typeof token === 'function' ? token : (): string | null => token ?? null
  const caller = createCaller({ url, token: tokenOf, attempts, fetch })
  const doors = createDoors(caller, { url, token: tokenOf, tickets, fetch })
  const boxyard: Boxyard = {
    call: caller.call,
    callFully: caller.callFully,
    transfer: caller.transfer,
    list: (id, input) => listAll(caller, id, input),
    events: (project, follow = {}) => followEvents(caller, project, follow),
    waitForOperation: (operation, signal) => waitForOperation(caller, operation, signal),
    createBox: async (project, body) => {
      const { headers } = await caller.callFully('createBox', { path: { project }, body })
      const operation = headers.get('operation-location')
      if (operation !== null) await waitForOperation(caller, operation)
      return boxyard.box(project, body.name)
    },
    createBaseFrom: async (project, archive, query) => {
      const response = await doors.transfer('createBase', { project, query }, archive)
      const { status, headers } = response
      const answer = await holdObject(response)
      return { status, headers, body: answer as AnswerOf<'createBase'> }
    },
    box: (project, name) => createHandle({ boxyard, caller, doors }, project, name),
  }
  return boxyard
}

function createHandle(
  deps: { boxyard: Boxyard; caller: Caller; doors: Doors },
  project: string,
  name: string,
): BoxHandle {
  const { boxyard, caller, doors } = deps
  const box = { project, name }
  const bytesFrom = async (id: 'readFile' | 'readArchive', query: Query): Promise<ReadableStream<Uint8Array>> => {
    const { body } = await doors.transfer(id, { ...box, query })
    return body ?? new Blob([]).stream()
  }
  const settled = async ({ status, headers, body }: FullAnswer<BoxRecord>): Promise<BoxRecord> => {
    const operation = headers.get('operation-location')
    if (status !== 202 || operation === null) return body
    await waitForOperation(caller, operation)
    return caller.call('getBox', { path: box })
  }
  return {
    ...box,
    info: () => caller.call('getBox', { path: box }),
    run: (command, options = {}) => {
      const what = typeof command === 'string' ? { shell: command } : { command: [...command] }
      return runExec(caller, box, { ...options, ...what })
    },
    stream: (command, options = {}) => streamExec({ caller, doors }, box, { ...options, command }),
    console: (options = {}) => openConsole(doors, box, options),
    connect: (port, options = {}) => openPort(doors, box, { ...options, port }),
    readFile: (path, query = {}) => bytesFrom('readFile', { ...query, ...pathFields(path) }),
    writeFile: async (path, body, query = {}) => {
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
      const response = await doors.transfer('writeFile', { ...box, query: { ...query, ...pathFields(path) } }, bytes)
      return (await holdObject(response)) as AnswerOf<'writeFile'>
    },
    readArchive: (path, query = {}) => bytesFrom('readArchive', { ...query, ...pathFields(path) }),
    writeArchive: async (path, body, query = {}) => {
      const response = await doors.transfer('writeArchive', { ...box, query: { ...query, ...pathFields(path) } }, body)
      return (await holdObject(response)) as AnswerOf<'writeArchive'>
    },
    fork: (fork, more = {}) => boxyard.createBox(project, { ...more, name: fork, fork: name }),
    ...stateOf(caller, box),
    restore: async (snapshot, more = {}) =>
      settled(await caller.callFully('restoreBox', { path: box, body: { ...more, snapshot } })),
    stop: async () => settled(await caller.callFully('stopBox', { path: box })),
    resume: async () => settled(await caller.callFully('resumeBox', { path: box })),
    delete: async () => {
      await caller.call('deleteBox', { path: box })
    },
    waitUntil: (status, signal) => waitForBox(caller, { ...box, status, signal }),
  }
}

/** The methods of a handle that call one operation each. */
function stateOf(
  caller: Caller,
  box: { project: string; name: string },
): Pick<BoxHandle, 'snapshot' | 'snapshots' | 'diff' | 'signal' | 'services'> {
  return {
    snapshot: (name, more = {}) =>
      caller.call('createBoxSnapshot', { path: box, body: { ...more, ...(name === undefined ? {} : { name }) } }),
    snapshots: () => listAll(caller, 'listBoxSnapshots', { path: box }),
    diff: (snapshot, to) =>
      listAll(caller, 'diffBoxSnapshot', { path: { ...box, snapshot }, query: to === undefined ? {} : { to } }),
    signal: (exec, name) => caller.call('signalExec', { path: { ...box, exec }, body: { signal: name } }),
    services: () => listAll(caller, 'listServices', { path: box }),
  }
}

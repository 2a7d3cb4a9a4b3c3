import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { withUnits } from '../output/units.ts'
import { BOX_BRIEF, LEASE_BRIEF, SERVICE_BRIEF, URL_BRIEF } from './briefs.ts'
import type { PlainVerb } from './plain.ts'
import { remarkKept, remarkPublic, tokenFirst, tokenId } from './remarks.ts'
import { PREFIX, SNAPSHOT_COLUMNS, VOLUME_ROWS } from './volume-table.ts'

const SNAPSHOT = 'snapshot read it from this snapshot of the box'

/** Columns of services. */
const SERVICE_COLUMNS = ['name', 'state', 'port', 'url', 'preview']

/** Creates the rows of services, with the state of a preview that exists. A pure function. */
export function serviceRows(answer: unknown): object[] {
  const { services } = answer as AnswerOf<'listServices'>
  return services.map(({ name, state, spec, active_url: url, preview }) => ({
    ...{ name, state, port: spec.port, url, preview: preview?.state ?? null },
  }))
}

/** The commands that are one operation each. They wait until their effect is complete. */
export const PLAIN_VERBS: readonly PlainVerb[] = [
  // Boxes.
  { words: 'info', operation: 'getBox', args: '<box=name>' },
  { words: 'stop', operation: 'stopBox', args: '<box=name>', brief: BOX_BRIEF },
  { words: 'resume', operation: 'resumeBox', args: '<box=name>', brief: BOX_BRIEF },
  {
    words: 'lease',
    operation: 'leaseBox',
    args: '<box=name>',
    fields: ['seconds:seconds time from now, such as 2h, at most 7d (0 ends the lease)'],
    brief: LEASE_BRIEF,
  },
  {
    words: 'publish',
    operation: 'publishBox',
    args: '<box=name>',
    fields: [
      'domains:list domains to add, such as shop.example.org',
      'port:number port that all its URLs forward to (0: none)',
      'protocol of that port: http, or h2c (HTTP/2 without TLS, for gRPC)',
      'auth who can open its URLs: token (anyone with a project token) or public (anyone)',
    ],
    examples: ['boxyard publish web --port 3000', 'boxyard publish web --auth public --domains shop.example.org'],
    brief: URL_BRIEF,
    remark: remarkPublic,
  },
  {
    words: 'unpublish',
    operation: 'unpublishBox',
    args: '<box=name>',
    fields: ['domains:list domains to remove (default: all)'],
    details: 'The box keeps its own URL with its access setting. To make it private: boxyard publish BOX --auth token',
    brief: URL_BRIEF,
    remark: remarkPublic,
  },
  {
    words: 'snapshot create',
    operation: 'createBoxSnapshot',
    args: '<box=name> [snapshot=.name]',
    fields: ['comment your note about it', 'include_data:flag include the data volumes, at the same instant'],
  },
  {
    words: 'snapshot ls',
    operation: 'listBoxSnapshots',
    args: '<box=name>',
    fields: [PREFIX],
    columns: SNAPSHOT_COLUMNS,
    whenEmpty: 'No snapshots yet. To create one: boxyard snapshot create BOX [NAME]',
  },
  { words: 'snapshot info', operation: 'getBoxSnapshot', args: '<box=name> <snapshot>' },
  { words: 'snapshot rm', operation: 'deleteBoxSnapshot', args: '<box=name> <snapshot>', deletes: 'getBoxSnapshot' },
  {
    words: 'snapshot restore',
    operation: 'restoreBox',
    args: '<box=name> <snapshot>',
    fields: ['include_data:flag also restore the data volumes in the snapshot'],
    brief: BOX_BRIEF,
    remark: remarkKept('listBoxSnapshots', 'boxyard snapshot restore'),
  },
  { words: 'snapshot diff', operation: 'diffBoxSnapshot', args: '<box=name> <snapshot> [to]' },
  // Commands and consoles.
  {
    words: 'ps',
    operation: 'listExecs',
    args: '<box=name>',
    whenMissing: 'ps lists the commands of one box. To list boxes: boxyard ls',
    fields: ['status only this status: running, exited, killed, timed_out, out_of_memory or lost'],
    columns: ['id', 'status', 'exit_code', 'started_at', 'command'],
  },
  { words: 'commands info', operation: 'getExec', args: '<box=name> <exec>' },
  {
    words: 'commands output',
    operation: 'getExecOutput',
    args: '<box=name> <exec>',
    fields: ['stream stdout or stderr', 'offset:number first byte to print'],
  },
  {
    words: 'signal',
    operation: 'signalExec',
    args: '<box=name> <exec> <signal>',
    examples: ['boxyard signal web exe_01m7yv0c5h8t2n4q6s8v0x2z4b TERM'],
    // Spelled as for kill(1).
    arrange: ([box = '', exec = '', signal = '']) => [box, exec, signal.toUpperCase().replace(/^(?!SIG)/, 'SIG')],
  },
  {
    words: 'sessions ls',
    operation: 'listSessions',
    args: '<box=name>',
    whenEmpty: 'No sessions yet. To start one: boxyard console BOX',
  },
  { words: 'sessions rm', operation: 'deleteSession', args: '<box=name> <session>' },
  // Files.
  {
    words: 'files ls',
    operation: 'listFiles',
    args: '<box=name> <path>',
    fields: ['recursive:flag include subdirectories', 'depth:number levels of subdirectories to include', SNAPSHOT],
    columns: ['type', 'mode', 'size_bytes', 'modified_at', 'path'],
  },
  { words: 'files stat', operation: 'statFile', args: '<box=name> <path>', fields: [SNAPSHOT] },
  {
    words: 'files rm',
    operation: 'deleteFile',
    args: '<box=name> <path>',
    fields: ['recursive:flag delete a directory with its contents'],
  },
  {
    words: 'files mv',
    operation: 'moveFile',
    args: '<box=name> <from> <to>',
    fields: ['overwrite:flag replace an existing file'],
  },
  {
    words: 'files mkdir',
    operation: 'makeDirectory',
    args: '<box=name> <path>',
    fields: ['parents:flag also create missing parent directories', 'mode permissions, such as 0755'],
  },
  { words: 'files restore', operation: 'restoreFile', args: '<box=name> <snapshot> <path>' },
  ...VOLUME_ROWS,
  // Bases.
  { words: 'base shared', operation: 'listSharedBases', fields: [PREFIX] },
  { words: 'base info', operation: 'getBase', args: '<base>' },
  { words: 'base rm', operation: 'deleteBase', args: '<base>', deletes: 'getBase' },
  // Services.
  {
    words: 'service ls',
    operation: 'listServices',
    args: '<box=name>',
    columns: SERVICE_COLUMNS,
    forPeople: serviceRows,
    whenEmpty: 'No services yet. To create one: boxyard service put BOX NAME COMMAND',
  },
  { words: 'service info', operation: 'getService', args: '<box=name> <service>' },
  { words: 'service rm', operation: 'deleteService', args: '<box=name> <service>' },
  { words: 'service start', operation: 'startService', args: '<box=name> <service>', brief: SERVICE_BRIEF },
  { words: 'service stop', operation: 'stopService', args: '<box=name> <service>', brief: SERVICE_BRIEF },
  {
    words: 'service publish',
    operation: 'publishService',
    args: '<box=name> <service>',
    fields: ['domains:list domains to add'],
    examples: ['boxyard service publish web site --domains shop.example.org'],
  },
  {
    words: 'service unpublish',
    operation: 'unpublishService',
    args: '<box=name> <service>',
    fields: ['domains:list domains to remove (default: all)'],
  },
  { words: 'discard', operation: 'discardService', args: '<box=name> <service>', brief: SERVICE_BRIEF },
  // Access and the service as a whole.
  {
    words: 'token create',
    operation: 'createToken',
    args: '<token=name>',
    fields: [
      'projects:list projects it gives access to',
      'permissions:list any of read, write, exec, ports and admin',
      'expires|expires_in_seconds:seconds time until it expires, such as 12h or 7d, at most as long as your own token',
    ],
    examples: ['boxyard token create ci --projects demo --permissions read,exec --expires 7d'],
    forPeople: tokenFirst,
    remark: (_answer, _given, { format }) => (format === 'table' ? 'keep the token now. It is shown only once' : null),
  },
  {
    words: 'token ls',
    operation: 'listTokens',
    columns: ['name', 'id', 'projects', 'permissions', 'expires_at', 'revoked_at'],
  },
  {
    words: 'token rm',
    operation: 'deleteToken',
    args: '<token>',
    details: 'Give the id of the token from boxyard token ls, or its name if no other token has the same name.',
    examples: ['boxyard token rm ci', 'boxyard token rm tok_01m8aw1fgx7qzd8nrqmrjtg727'],
    arrange: async ([token = ''], context) => [await tokenId(context, token)],
  },
  { words: 'me', operation: 'getMe' },
  { words: 'quota', operation: 'getQuota' },
  {
    words: 'set-quota',
    operation: 'updateQuota',
    fields: [
      'boxes=allowed.boxes:number limit on boxes',
      'cpus=allowed.cpus:number limit on CPU cores of boxes that run or start',
      'ram_mb=allowed.ram_mb:mib limit on their memory, such as 16g (a plain number is MiB)',
      'storage_gb=allowed.storage_gb:gib limit on disks and volumes, such as 200g (a plain number is GiB)',
    ],
    details:
      'Limits without a flag stay unchanged. At first, nothing is limited. To remove a limit: --data \'{"allowed":{"boxes":null}}\'',
    examples: ['boxyard set-quota --boxes 20 --cpus 8 --ram-mb 16g --storage-gb 200g'],
    requiresChange: true,
  },
  {
    words: 'audit',
    operation: 'listAudit',
    fields: [
      'actor only requests with this token (id or name)',
      'operation only this operation, such as createBox',
      'status:number only this HTTP status',
    ],
    selectsProject: true,
    columns: ['ts', 'actor_name', 'operation', 'status', 'code', 'target', 'command'],
    details:
      '--project, -p: only requests of this project. COMMAND shows the first 60 characters of what exec, console and ssh ran. -o json has 1,024 bytes of it and all other fields.',
    examples: ['boxyard audit', 'boxyard audit -p demo --actor ci', 'boxyard audit --operation deleteBox -o json'],
  },
  { words: 'storage', operation: 'getStorage' },
  { words: 'scrub', operation: 'startScrub' },
  { words: 'operation', operation: 'getOperation', args: '<operation>' },
  { words: 'version', operation: 'getVersion' },
  {
    words: 'limits',
    operation: 'getConfig',
    details:
      'Sizes use powers of 1024, such as 1.5 MiB, and times look like 90d. In -o json, the name of each field ends with its unit.',
    forPeople: withUnits,
  },
  { words: 'problems', operation: 'listProblems' },
  { words: 'problem', operation: 'getProblem', args: '<code>' },
]

import { withUnits } from '../output/units.ts'
import { BOX_BRIEF, LEASE_BRIEF, SERVICE_BRIEF, URL_BRIEF } from './briefs.ts'
import type { PlainVerb } from './plain.ts'
import { remarkKept, remarkPublic, tokenId } from './remarks.ts'
import { PREFIX, SNAPSHOT_COLUMNS, VOLUME_ROWS } from './volume-table.ts'

const SNAPSHOT = 'snapshot as it was in this snapshot of the box'

/** The verbs that are one operation each; what waits for its effect is waited for. */
export const PLAIN_VERBS: readonly PlainVerb[] = [
  // Boxes.
  { words: 'info', operation: 'getBox', args: '<box=name>' },
  { words: 'stop', operation: 'stopBox', args: '<box=name>', brief: BOX_BRIEF },
  { words: 'resume', operation: 'resumeBox', args: '<box=name>', brief: BOX_BRIEF },
  {
    words: 'lease',
    operation: 'leaseBox',
    args: '<box=name>',
    fields: ['seconds:seconds from now, such as 2h, at most 7d; 0 ends it'],
    brief: LEASE_BRIEF,
  },
  {
    words: 'publish',
    operation: 'publishBox',
    args: '<box=name>',
    fields: [
      'domains:list to add to those of the box, such as shop.example.org',
      'port:number that all its URLs lead to from now on; 0: none',
      'protocol of that port: http, or h2c (HTTP/2 without TLS, for gRPC)',
      'auth who may use its URLs from now on: token (bearers of a token of the project), or public (anybody)',
    ],
    examples: ['boxyard publish web --port 3000', 'boxyard publish web --auth public --domains shop.example.org'],
    brief: URL_BRIEF,
    remark: remarkPublic,
  },
  {
    words: 'unpublish',
    operation: 'unpublishBox',
    args: '<box=name>',
    fields: ['domains:list to take away; all, if left out'],
    details:
      'Who may use the URL that the box keeps stays as it is: boxyard publish BOX --auth token makes it private again.',
    brief: URL_BRIEF,
    remark: remarkPublic,
  },
  {
    words: 'snapshot create',
    operation: 'createBoxSnapshot',
    args: '<box=name> [snapshot=.name]',
    fields: ['comment why it was taken', 'include_data:flag with its data volumes, at the same instant'],
  },
  {
    words: 'snapshot ls',
    operation: 'listBoxSnapshots',
    args: '<box=name>',
    fields: [PREFIX],
    columns: SNAPSHOT_COLUMNS,
    whenEmpty: 'There are none: boxyard snapshot create BOX [NAME]',
  },
  { words: 'snapshot info', operation: 'getBoxSnapshot', args: '<box=name> <snapshot>' },
  { words: 'snapshot rm', operation: 'deleteBoxSnapshot', args: '<box=name> <snapshot>' },
  {
    words: 'snapshot restore',
    operation: 'restoreBox',
    args: '<box=name> <snapshot>',
    fields: ['include_data:flag its data volumes as well, as the snapshot holds them'],
    brief: BOX_BRIEF,
    remark: remarkKept('listBoxSnapshots', 'boxyard snapshot restore'),
  },
  { words: 'snapshot diff', operation: 'diffBoxSnapshot', args: '<box=name> <snapshot> [to]' },
  // Commands and consoles.
  {
    words: 'ps',
    operation: 'listExecs',
    args: '<box=name>',
    fields: ['status only these: running, exited, killed, timed_out, out_of_memory or lost'],
    columns: ['id', 'status', 'exit_code', 'started_at', 'command'],
  },
  { words: 'commands info', operation: 'getExec', args: '<box=name> <exec>' },
  {
    words: 'commands output',
    operation: 'getExecOutput',
    args: '<box=name> <exec>',
    fields: ['stream stdout or stderr', 'offset:number the byte to begin at'],
  },
  {
    words: 'signal',
    operation: 'signalExec',
    args: '<box=name> <exec> <signal>',
    examples: ['boxyard signal web exe_01m7yv0c5h8t2n4q6s8v0x2z4b TERM'],
    // As kill(1) takes it.
    arrange: ([box = '', exec = '', signal = '']) => [box, exec, signal.toUpperCase().replace(/^(?!SIG)/, 'SIG')],
  },
  {
    words: 'sessions ls',
    operation: 'listSessions',
    args: '<box=name>',
    whenEmpty: 'There are none: boxyard console BOX',
  },
  { words: 'sessions rm', operation: 'deleteSession', args: '<box=name> <session>' },
  // Files.
  {
    words: 'files ls',
    operation: 'listFiles',
    args: '<box=name> <path>',
    fields: ['recursive:flag what is below as well', 'depth:number so far below', SNAPSHOT],
    columns: ['type', 'mode', 'size_bytes', 'modified_at', 'path'],
  },
  { words: 'files stat', operation: 'statFile', args: '<box=name> <path>', fields: [SNAPSHOT] },
  { words: 'files rm', operation: 'deleteFile', args: '<box=name> <path>', fields: ['recursive:flag with all in it'] },
  {
    words: 'files mv',
    operation: 'moveFile',
    args: '<box=name> <from> <to>',
    fields: ['overwrite:flag what is there already'],
  },
  {
    words: 'files mkdir',
    operation: 'makeDirectory',
    args: '<box=name> <path>',
    fields: ['parents:flag those above it as well', 'mode its permissions, such as 0755'],
  },
  { words: 'files restore', operation: 'restoreFile', args: '<box=name> <snapshot> <path>' },
  ...VOLUME_ROWS,
  // Bases.
  { words: 'base shared', operation: 'listSharedBases', fields: [PREFIX] },
  { words: 'base info', operation: 'getBase', args: '<base>' },
  { words: 'base rm', operation: 'deleteBase', args: '<base>' },
  // Services.
  {
    words: 'service ls',
    operation: 'listServices',
    args: '<box=name>',
    whenEmpty: 'There are none: boxyard service put BOX NAME COMMAND',
  },
  { words: 'service info', operation: 'getService', args: '<box=name> <service>' },
  { words: 'service rm', operation: 'deleteService', args: '<box=name> <service>' },
  { words: 'service start', operation: 'startService', args: '<box=name> <service>', brief: SERVICE_BRIEF },
  { words: 'service stop', operation: 'stopService', args: '<box=name> <service>', brief: SERVICE_BRIEF },
  {
    words: 'service publish',
    operation: 'publishService',
    args: '<box=name> <service>',
    fields: ['domains:list to add to those of the service'],
    examples: ['boxyard service publish web site --domains shop.example.org'],
  },
  {
    words: 'service unpublish',
    operation: 'unpublishService',
    args: '<box=name> <service>',
    fields: ['domains:list to take away; all, if left out'],
  },
  { words: 'discard', operation: 'discardService', args: '<box=name> <service>' },
  // Access and the service as a whole.
  {
    words: 'token create',
    operation: 'createToken',
    args: '<token=name>',
    fields: [
      'projects:list that it is for',
      'permissions:list read, write, exec, ports or admin',
      'expires_in_seconds:seconds how long it is good, such as 12h or 30d',
    ],
    examples: ['boxyard token create ci --projects demo --permissions read,exec --expires-in-seconds 30d'],
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
    details: 'A token is named by its id, as boxyard token ls tells it, or by its name where only one is called so.',
    examples: ['boxyard token rm ci', 'boxyard token rm tok_01m8aw1fgx7qzd8nrqmrjtg727'],
    arrange: async ([token = ''], context) => [await tokenId(context, token)],
  },
  { words: 'me', operation: 'getMe' },
  { words: 'quota', operation: 'getQuota' },
  {
    words: 'set-quota',
    operation: 'updateQuota',
    fields: [
      'boxes=allowed.boxes:number how many boxes it may have',
      'cpus=allowed.cpus:number cores of those that run or are to run',
      'ram_mb=allowed.ram_mb:mib memory of the same, such as 16g; a number is MiB',
      'storage_gb=allowed.storage_gb:gib disks and volumes, such as 200g; a number is GiB',
    ],
    details:
      'What is left out stays, or has no bound from the beginning; a bound is taken away by --data \'{"allowed":{"boxes":null}}\'.',
    examples: ['boxyard set-quota --boxes 20 --cpus 8 --ram-mb 16g --storage-gb 200g'],
    requiresChange: true,
  },
  {
    words: 'audit',
    operation: 'listAudit',
    fields: [
      'actor only of this token, an id or a name',
      'operation only of this kind, such as createBox',
      'status:number only so answered',
    ],
    selectsProject: true,
    columns: ['ts', 'actor_name', 'operation', 'status', 'code', 'target', 'command'],
    details:
      '--project, -p: only requests of this project. COMMAND is what exec, console and ssh ran, up to 60 characters; -o json has 1,024 bytes of it and all other fields.',
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
      'Sizes are in powers of 1024, such as 1.5 MiB, and times such as 90d. -o json has them in the unit that the name of each ends with.',
    forPeople: withUnits,
  },
  { words: 'openapi', operation: 'getOpenApi' },
  { words: 'problems', operation: 'listProblems' },
  { words: 'problem', operation: 'getProblem', args: '<code>' },
]

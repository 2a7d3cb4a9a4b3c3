import { useReservedDescriptors } from './descriptor-limit.ts'
import { lazyNative } from './libc.ts'
import { checkNetfilterSocket } from './netlink.ts'

/** A failed nftables command. `detail` is nft's error output. */
export class NftablesError extends Error {
  override readonly name = 'NftablesError'
  readonly detail: string

  constructor(detail: string) {
    super(`nftables: ${detail.trim().slice(0, 500)}`)
    this.detail = detail
  }
}

/** A libnftables context for this network namespace. Each command blocks for about 0.1 ms. */
export interface Nftables {
  /** Runs commands as one transaction, like `nft -f`, and returns their output. If it throws NftablesError nothing was changed. */
  run(commands: string): string
  close(): void
}

/** Opens libnftables. `json` makes it print JSON. Throws if the library is not installed, or a socket cannot be opened. */
export function openNftables(options: { json?: boolean } = {}): Nftables {
  const context = withSocket(() => contextNew()(0))
  if (context === null) throw new NftablesError('no context')
  bufferOutput()(context)
  bufferError()(context)
  if (options.json === true) setOutputFlags()(context, OUTPUT_JSON)
  return {
    run: (commands) => {
      const result = withSocket(() => runCommand()(context, commands))
      const output = getOutput()(context) ?? ''
      const error = getError()(context) ?? ''
      if (result !== 0) throw new NftablesError(error)
      return output
    },
    close: () => contextFree()(context),
  }
}

/**
 * Runs `work` only if a netlink socket can be opened: without one libnftables calls exit(3), which ends this process. It opens one for
 * each context, and again in a command that meets changes of another program.
 */
function withSocket<T>(work: () => T): T {
  return useReservedDescriptors(() => {
    try {
      checkNetfilterSocket()
    } catch (error) {
      throw new NftablesError(`no socket: ${error instanceof Error ? error.message : String(error)}`)
    }
    return work()
  })
}

const LIBRARY = 'libnftables.so.1'
const OUTPUT_JSON = 1 << 4

type Context = unknown

const contextNew = lazyNative<(flags: number) => Context>(LIBRARY, 'nft_ctx_new', { result: 'void *', args: ['uint'] })
const contextFree = lazyNative<(context: Context) => void>(LIBRARY, 'nft_ctx_free', {
  result: 'void',
  args: ['void *'],
})
const bufferOutput = lazyNative<(context: Context) => number>(LIBRARY, 'nft_ctx_buffer_output', {
  result: 'int',
  args: ['void *'],
})
const bufferError = lazyNative<(context: Context) => number>(LIBRARY, 'nft_ctx_buffer_error', {
  result: 'int',
  args: ['void *'],
})
const getOutput = lazyNative<(context: Context) => string | null>(LIBRARY, 'nft_ctx_get_output_buffer', {
  result: 'str',
  args: ['void *'],
})
const getError = lazyNative<(context: Context) => string | null>(LIBRARY, 'nft_ctx_get_error_buffer', {
  result: 'str',
  args: ['void *'],
})
const setOutputFlags = lazyNative<(context: Context, flags: number) => void>(LIBRARY, 'nft_ctx_output_set_flags', {
  result: 'void',
  args: ['void *', 'uint'],
})
const runCommand = lazyNative<(context: Context, commands: string) => number>(LIBRARY, 'nft_run_cmd_from_buffer', {
  result: 'int',
  args: ['void *', 'str'],
})

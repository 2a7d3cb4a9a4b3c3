import { constants } from 'node:os'
import { BOX_DOMAIN, createHostOpener } from '../context/box-host.ts'
import { printLine, reportRawLine } from '../output/terminal.ts'
import { startProgram } from '../programs.ts'
import type { Verb } from './verb.ts'

const sshConfig: Verb = {
  words: 'ssh-config',
  args: '',
  flags: [
    ['--install', 'make OpenSSH know boxes'],
    ['--print', 'print the configuration and leave ~/.ssh unchanged (default)'],
  ],
  summary: `Let ssh, scp, sftp, rsync, git and editors reach boxes as BOX[.PROJECT[.CONTEXT]]${BOX_DOMAIN}`,
  examples: ['boxyard ssh-config --install', 'ssh web.demo.boxyard', 'scp notes.txt web.demo.boxyard:'],
  operations: [],
  run: async ({ environment, tell }, _args, flags) => {
    const { includeSshConfig, writeSshFiles } = await import('../ssh/config.ts')
    const { sshPathsOf } = await import('../ssh/keys.ts')
    const paths = sshPathsOf(environment)
    const config = writeSshFiles(paths, ownProgram(), reportLine)
    if (flags['install'] !== true || flags['print'] === true) return printLine(config.trimEnd())
    const { path, isChanged } = includeSshConfig(paths)
    printLine(`${path} ${isChanged ? 'now includes' : 'includes'} ${paths.config}`)
    tell(`Try: ssh BOX.PROJECT${BOX_DOMAIN}`)
  },
}

const sshProxy: Verb = {
  words: 'ssh-proxy',
  args: '<host>',
  flags: [],
  summary: 'Act as the SSH server of a box on stdin and stdout, for ProxyCommand of OpenSSH',
  examples: [`ssh -o "ProxyCommand boxyard ssh-proxy -- '%h'" web.demo.boxyard`],
  hostsNameProject: true,
  operations: ['streamExec', 'signalExec', 'openPort', 'readFile', 'writeFile', 'statFile', 'listFiles'],
  run: async (context, [host = '']) => {
    const opened = createHostOpener(context)(host)
    const { sshPathsOf } = await import('../ssh/keys.ts')
    const { checkDeployment } = await import('../ssh/deployments.ts')
    const paths = sshPathsOf(context.environment)
    checkDeployment(host, opened, { names: paths.names, report: reportLine })
    const { readPasswd } = await import('../files/accounts.ts')
    // Answered while the rest loads.
    const passwd = readPasswd(opened)
    passwd.catch(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))
    const { serveSsh } = await import('../ssh/server.ts')
    const { readSshKeys } = await import('../ssh/keys.ts')
    const { joinStdio } = await import('../ssh/stdio.ts')
    // Stderr is the terminal of ssh's user, where warnings of Node.js do not belong.
    process.removeAllListeners('warning')
    await serveSsh(joinStdio(process), {
      ...opened,
      passwd,
      hostName: host,
      keys: readSshKeys(paths, opened.connection.url, reportLine),
      tell: reportLine,
    })
  },
}

const ssh: Verb = {
  words: 'ssh',
  args: '<box> [arguments...]',
  flags: [['-A, --forward-agent', 'let the command in the box use the SSH agent of this machine until it ends']],
  summary: 'Connect to a box with the ssh of this machine, without any setup. Arguments after the box go to ssh',
  examples: [
    'boxyard ssh web',
    'boxyard ssh web make -C /srv',
    'boxyard ssh -A web git push',
    'boxyard ssh web -N -L 5432:localhost:5432',
  ],
  operations: ['getBox'],
  run: async ({ connection, environment, project }, [name = '', ...rest], flags) => {
    const { writeSshFiles } = await import('../ssh/config.ts')
    const { sshPathsOf } = await import('../ssh/keys.ts')
    const { splitSshWords } = await import('../ssh/words.ts')
    const paths = sshPathsOf(environment)
    writeSshFiles(paths, ownProgram(), reportLine)
    const isNamed = typeof flags['context'] === 'string' || connection.chosen?.hasContext === true
    const context = isNamed ? `.${connection.context}` : ''
    const host = `${name}.${project()}${context}${BOX_DOMAIN}`
    const { options, command } = splitSshWords(rest)
    const own = flags['forwardAgent'] === true ? ['-A'] : []
    const call = { program: 'ssh', options: ['-F', paths.config, ...own, ...options], operands: [host, ...command] }
    const child = startProgram(call, { stdio: 'inherit' })
    // A terminal sends Ctrl-C to both, and ssh decides what it means.
    process.on('SIGINT', () => undefined)
    return new Promise((resolve, reject) => {
      child.once('error', (error) => reject(new Error(`ssh did not start: ${error.message}`)))
      child.once('close', (code, signal) => resolve(code ?? 128 + (constants.signals[signal ?? 'SIGTERM'] ?? 0)))
    })
  },
}

/** The commands of SSH. */
export const SSH_VERBS: readonly Verb[] = [ssh, sshConfig, sshProxy]

/** Reports to the caller of ssh on stderr, because the program uses its stdout. */
function reportLine(message: string): void {
  reportRawLine(`boxyard: ${message}`)
}

/** Returns the words that start this program again, either a single executable, or Node.js with the file that it runs. */
function ownProgram(): string[] {
  const [, file] = process.argv
  const isSingle = process.getBuiltinModule?.('node:sea')?.isSea() === true
  return isSingle || file === undefined ? [process.execPath] : [process.execPath, file]
}

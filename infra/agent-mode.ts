import { runAgentCommand } from './agent-command.ts'

// `npm run token -- --projects demo` and `npm run keys -- rotate token` run the mode of the agent in the first argument.
process.exitCode = await runAgentCommand(process.argv.slice(2))

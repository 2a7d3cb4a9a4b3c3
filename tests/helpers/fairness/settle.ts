/** Lets everything happen that only waits for promises. */
export async function settlePromises(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await Promise.resolve()
}

/** More than any chain of promises in what is tested is long. */
const ROUNDS = 20

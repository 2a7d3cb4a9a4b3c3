import { expect, test } from '@jest/globals'
import { readCredential } from '../../../web/src/api/credential.ts'

const TOKEN = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ0b2sifQ.c2ln_-'

test.each([
  ['a token', TOKEN, { token: TOKEN }],
  ['spaces and a line end around it', ` \t${TOKEN}\r\n`, { token: TOKEN }],
  ['the value of a header', `Bearer ${TOKEN}`, { token: TOKEN }],
  ['a sign-in link', 'http://127.0.0.1:8080/sign-in#a-ticket_1', { ticket: 'a-ticket_1' }],
  ['nothing', '  ', null],
  ['two words', 'a b', null],
  ['a token with a space within', TOKEN.replace('.', '. '), null],
  ['two tokens', `${TOKEN}\n${TOKEN}`, null],
  ['a word', 'secret', null],
  ['part of a token', TOKEN.slice(0, 30), null],
  ['an address of something else', 'http://127.0.0.1:8080/boxes', null],
])('what is pasted is %s', (_what, text, credential) => expect(readCredential(text)).toEqual(credential))

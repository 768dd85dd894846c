import { mergeConfig, type ViteUserConfig } from 'vitest/config';
import shared from '../../vitest.shared.ts';

// These tests run whole tools over the whole repository, beside all other tests.
const config: ViteUserConfig = mergeConfig(shared, { test: { testTimeout: 600_000, hookTimeout: 600_000 } });
export default config;

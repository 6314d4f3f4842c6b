function _dial_pairs_completion;
    set -l response (env _DIAL_PAIRS_COMPLETE=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) dial-pairs);

    set -l before (string match -r -- '^--[^=]+=' (commandline -t));

    for completion in $response;
        set -l metadata (string split -m 1 "," $completion);

        if test $metadata[1] = "dir";
            __fish_complete_directories $metadata[2];
        else if test $metadata[1] = "file";
            __fish_complete_path $metadata[2] | string replace -r -- '^' "$before";
        else if test $metadata[1] = "plain";
            echo "$before"$metadata[2];
        end;
    end;
end;

complete --no-files --command dial-pairs --arguments "(_dial_pairs_completion)";
